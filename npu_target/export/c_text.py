"""C's words for types, numbers and names."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

import numpy as np

from .errors import ExportError

_COLUMNS = 100
_TYPES = {
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t",
    "float32": "float", "float64": "double", "bool": "bool",
}  # fmt: skip
_TAKEN = frozenset(
    """
    asm auto bool break case char const continue default do double else enum extern false float for
    goto if inline int long main register restrict return short signed sizeof static struct switch
    true typedef union unsigned void volatile while
    """.split()  # noqa: SIM905  a list would be 40 lines
)


def c_type(dtype: str, where: str) -> str:
    """Raises ExportError for a type that C has not."""
    if dtype not in _TYPES:
        raise ExportError(f"{where}: {dtype} has no type in C, {', '.join(_TYPES)} have")
    return _TYPES[dtype]


def float_text(value: float, dtype: str) -> str:
    """A constant that C reads as exactly this number."""
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = str(np.float32(value)) if dtype == "float32" else repr(float(value))
    return text + "f" if dtype == "float32" else text


def identifier(text: str) -> str:
    """A name of C that is like `text`."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII) or "_"
    return f"_{name}" if name[0].isdigit() or name in _TAKEN else name


def wrapped(text: str) -> str:
    """The same C with lines as long as people read them. Breaks at blanks, of which no string and
    no constant of ours has one."""
    return "".join(f"{line}\n" for whole in text.splitlines() for line in _lines(whole))


def _lines(line: str) -> list[str]:
    if len(line) <= _COLUMNS or line.startswith("#"):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    further = f"{indent}// " if line.lstrip().startswith("//") else f"{indent}    "
    return textwrap.wrap(
        line,
        _COLUMNS,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Names:
    """Identifiers, each handed out once."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def fresh(self, text: str) -> str:
        """One that is like `text`."""
        base = name = identifier(text)
        while self._used[name]:
            self._used[base] += 1
            name = f"{base}_{self._used[base]}"
        self._used[name] += 1
        return name
