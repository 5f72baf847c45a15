"""Compute definitions: what a device region computes, with known shapes and exact numbers."""

from __future__ import annotations

from typing import Any

from .add import Add, add_diagonals
from .conv2d import Conv2d
from .depthwise import DepthwiseConv2d, depthwise_diagonal
from .matmul import Matmul
from .operator import CANONICAL_SCALE, Arg, Operator, OperatorError
from .pool import GlobalAvgPool, MaxPool2d

OPERATORS: dict[str, type[Operator]] = {
    cls.op: cls for cls in (Conv2d, DepthwiseConv2d, Matmul, Add, MaxPool2d, GlobalAvgPool)
}


def make(op: str, attrs: dict[str, Any]) -> Operator:
    """The operator ``op`` with these attributes, as :meth:`Operator.attrs` gives them.

    Raises
    ------
    OperatorError
        for an unknown operator or attribute, a missing one, or a senseless value.
    """
    if op not in OPERATORS:
        raise OperatorError(f"unknown operator {op!r}; known: {', '.join(sorted(OPERATORS))}")
    values = {
        name: tuple(value) if isinstance(value, (list, tuple)) else value
        for name, value in attrs.items()
    }
    try:
        return OPERATORS[op](**values)
    except TypeError as error:
        raise OperatorError(f"{op}: {error}") from error


__all__ = [
    "CANONICAL_SCALE",
    "OPERATORS",
    "Add",
    "Arg",
    "Conv2d",
    "DepthwiseConv2d",
    "GlobalAvgPool",
    "Matmul",
    "MaxPool2d",
    "Operator",
    "OperatorError",
    "add_diagonals",
    "depthwise_diagonal",
    "make",
]
