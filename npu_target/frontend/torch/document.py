"""The program in a ``.pt2`` archive: JSON, in which nothing may be more than data.

PyTorch puts names into Python code that it compiles, evaluates symbolic sizes as Python, and
takes operators by their path in ``torch``. So every text is held to what such texts are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FrontendError
from ..foreign import first_line, refusing

# Names, operators, types: nothing that could call, index or begin a statement.
_NAME = re.compile(r"[\w.+-]*", re.ASCII)
_ARGUMENT = re.compile(r"[\w.,>: +-]*", re.ASCII)  # an equation of einsum, a mode
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|quantized_decomposed)\.\w+\.\w+|torch\.sym_\w+|(_operator|math)\.\w+",
    re.ASCII,
)
# Sizes, as SymPy writes them: Add(Mul(Integer(2), Symbol('s77', positive=True)), Integer(1)).
_SYMBOL = re.compile(r"Symbol\('[a-z]+\d+'(, \w+=(True|False))*\)", re.ASCII)
_POWER = re.compile(r"\bPow\(")
_FUNCTIONS = (
    "Add|Mul|Pow|Integer|Rational|Max|Min|Mod|PythonMod|FloorDiv|CeilDiv|CleanDiv|IntTrueDiv|And|Or"
    "|Not|StrictLessThan|LessThan|StrictGreaterThan|GreaterThan|Equality|Unequality|true|false|oo"
    "|int_oo"
)
_EXPRESSION = re.compile(rf"(\b({_FUNCTIONS})\b|-?\d+|[(), ])*", re.ASCII)
_MOST_POWERS = 2  # A power of powers has no end.
_TREES = ("in_spec", "out_spec")


def checked_document(path: Path, data: bytes) -> bytes:
    """The JSON of a program without guards and traces, with its tensors on the CPU.

    Raises
    ------
    FrontendError
        for what is no such program, has an operator of another library, or a text that is none of
        a program's.
    """
    document = read_json(path, "its program", data)
    document["guards_code"] = []  # Python source.
    _clean_nodes(path, document)
    checked_strings(path, document)
    return written_json(path, "its program", document)


def read_json(path: Path, name: str, data: bytes | str) -> dict[str, Any]:
    """The JSON object that ``name`` is. Raises :class:`FrontendError` where it is none."""
    with refusing(lambda error: f"{path}: {name} is damaged ({first_line(error)})"):
        value = json.loads(data)
    if not isinstance(value, dict):
        raise FrontendError(f"{path}: {name} is damaged: it is no object of JSON")
    return value


def written_json(path: Path, name: str, value: Any) -> bytes:
    """JSON of what `read_json` read."""
    # It nests as deep as it did, of which there may be too much on this side only.
    with refusing(lambda error: f"{path}: {name} is damaged ({first_line(error)})"):
        return json.dumps(value).encode()


def objects_of(document: Any) -> Iterator[dict[str, Any]]:
    """All objects in JSON, those around others first; may be changed on the way."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def checked_strings(path: Path, document: Any) -> None:
    """Raises :class:`FrontendError` for a text in JSON that should not be there; takes tensors to
    the CPU."""
    waiting: list[tuple[Any, str]] = [(document, "")]
    while waiting:
        value, key = waiting.pop()
        if isinstance(value, dict):
            for name, item in value.items():
                _check(path, name, _NAME)
                if name in ("device", "as_device"):
                    value[name] = {"type": "cpu", "index": None}
                elif name != "nn_module_stack":  # which is only ever shown
                    waiting.append((item, name))
        elif isinstance(value, list):
            waiting += ((item, key) for item in value)
        elif isinstance(value, str):
            if key == "expr_str":
                _check_expression(path, value)
            elif key in _TREES:
                _check_tree(path, value)
            else:
                _check(path, value, _ARGUMENT if key == "as_string" else _NAME)


def _clean_nodes(path: Path, document: Any) -> None:
    """Operators checked, all that is told about where they come from dropped but for modules."""
    for value in objects_of(document):
        if "target" not in value or "metadata" not in value:
            continue
        target, metadata = value["target"], value["metadata"]
        if not isinstance(target, str) or not isinstance(metadata, dict):
            raise FrontendError(f"{path}: its program is damaged: a node has no operator")
        stack = metadata.get("nn_module_stack", "")
        value["metadata"] = {"nn_module_stack": stack} if stack else {}
        if not _OPERATOR.fullmatch(target):
            at = value.get("name") or stack
            raise FrontendError(
                f"{path}: the operator {target!r} ({at!r}) is none of PyTorch's own that can be "
                "imported; write it in others, or leave it out of what is exported"
            )


def _check(path: Path, text: str, allowed: re.Pattern[str]) -> None:
    if not allowed.fullmatch(text):
        raise FrontendError(f"{path}: {text[:60]!r} is no name that a program has")


def _check_expression(path: Path, text: str) -> None:
    """Sums and products of symbols, which PyTorch evaluates as Python."""
    # A symbol is worth a number here, so that no name is left that is no function of sizes.
    plain = _SYMBOL.sub("0", text)
    powers = len(_POWER.findall(plain))
    small = len(re.findall(r", Integer\(-?\d\)\)", plain))
    if not _EXPRESSION.fullmatch(plain) or powers > min(small, _MOST_POWERS):
        raise FrontendError(f"{path}: {text[:60]!r} is no size")


def _check_tree(path: Path, text: str) -> None:
    """How arguments nest: JSON, of which some is text in JSON again."""
    waiting: list[Any] = [text]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and not _NAME.fullmatch(value):
            with refusing(lambda error: f"{path}: its arguments are damaged ({first_line(error)})"):
                inner = json.loads(value)
            waiting.append(inner)
