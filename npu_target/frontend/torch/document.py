"""The program in a ``.pt2`` archive: JSON, in which nothing may be more than data.

PyTorch puts names into Python code that it compiles, evaluates symbolic sizes as Python, and
takes operators by their path in ``torch``. So every text is held to what such texts are.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..errors import FrontendError

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
    try:
        document = json.loads(data)
        document["guards_code"] = []  # Python source.
        _clean_nodes(path, document)
        checked_strings(path, document)
        return json.dumps(document).encode()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, FrontendError):
            raise
        raise FrontendError(f"{path}: its program is damaged ({error!r})") from error


def checked_strings(path: Path, value: Any, key: str = "") -> None:
    """Raises :class:`FrontendError` for a text in JSON that should not be there."""
    if isinstance(value, dict):
        for name, item in value.items():
            _check(path, name, _NAME)
            if name == "nn_module_stack":
                continue  # Only ever shown.
            if name in ("device", "as_device"):
                value[name] = {"type": "cpu", "index": None}
            else:
                checked_strings(path, item, name)
    elif isinstance(value, list):
        for item in value:
            checked_strings(path, item, key)
    elif isinstance(value, str):
        if key == "expr_str":
            _check_expression(path, value)
        elif key in _TREES:
            _check_tree(path, value)
        else:
            _check(path, value, _ARGUMENT if key == "as_string" else _NAME)


def _clean_nodes(path: Path, value: Any) -> None:
    """Operators checked, all that is told about where they come from dropped but for modules."""
    if isinstance(value, list):
        for item in value:
            _clean_nodes(path, item)
    elif isinstance(value, dict):
        if "target" in value and "metadata" in value:
            stack = value["metadata"].get("nn_module_stack", "")
            value["metadata"] = {"nn_module_stack": stack} if stack else {}
            if not _OPERATOR.fullmatch(value["target"]):
                at = value.get("name") or stack
                raise FrontendError(
                    f"{path}: the operator {value['target']!r} ({at!r}) is none of PyTorch's own "
                    "that can be imported; write it in others, or leave it out of what is exported"
                )
        for item in value.values():
            _clean_nodes(path, item)


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
    if _NAME.fullmatch(text):
        return
    for item in _strings_of(json.loads(text)):
        _check_tree(path, item)


def _strings_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in _strings_of(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings_of(item)]
    return [value] if isinstance(value, str) else []
