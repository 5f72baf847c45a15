"""Operators as people write them: `conv2d(h=28, w=28, ci=128, co=128, k=3, pad=1)`.

Beside an operator's attributes as `make` takes them there are short forms: `k` is both `kh` and
`kw`, `stride` both strides, one number instead of several (`pad=1`) stands for each of them. What
is left out and has no default: the batch is 1, `dim` is the device's array side. The batch is
`batch`, or `n` of an operator that has no `batch`: a matmul's `n` are its columns.
"""

from __future__ import annotations

import ast
from dataclasses import MISSING, fields
from typing import Any, get_args, get_origin, get_type_hints

from ..device import DeviceConfig
from .operator import Operator, OperatorError
from .registry import make, operators

_SHORT = {"k": ("kh", "kw"), "stride": ("strides",)}


def parse_operator(text: str, config: DeviceConfig) -> Operator:
    """The operator that `text` says, for a device.

    Raises
    ------
    OperatorError
        for what is no call of an operator with numbers by name, and as `make` does; the text names
        the attributes that there are.
    """
    op, given = _call(text)
    if op not in operators():
        raise OperatorError(f"unknown operator {op!r}; known: {', '.join(sorted(operators()))}")
    cls = operators()[op]
    hints = get_type_hints(cls)
    names = [field.name for field in fields(cls)]
    one = "batch" if "batch" in names else "n"
    attrs: dict[str, Any] = {}
    for name, value in given.items():
        longer = (
            [name] if name in names else [long for long in _SHORT.get(name, ()) if long in names]
        )
        for each in longer or [name]:
            if each in attrs:
                raise OperatorError(f"{op}: {each} is given twice, by {name} as well")
            attrs[each] = _repeated(value, hints.get(each))
    for field in fields(cls):
        if field.name in attrs or field.default is not MISSING:
            continue
        if field.name == one:
            attrs[field.name] = 1
        elif field.name == "dim":
            attrs[field.name] = config.dim
    return make(op, attrs)


def _call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the keyword arguments of a call, as literals."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        names = [keyword.arg for keyword in call.keywords]
        if None in names or len(set(names)) < len(names):
            raise ValueError
        return call.func.id, {
            str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords
        }
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        shown = text if len(text) <= 60 else text[:60] + "..."
        raise OperatorError(
            f"{shown!r} is no operator; write one as conv2d(h=28, w=28, ci=128, co=128, k=3, pad=1)"
        ) from None


def _repeated(value: Any, wanted: Any) -> Any:
    """One number where a fixed number of them is wanted, so many times."""
    if get_origin(wanted) is tuple and isinstance(value, int) and Ellipsis not in get_args(wanted):
        return (value,) * len(get_args(wanted))
    return value
