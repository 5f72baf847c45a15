"""Any function of one int8 element, as what it gives for each of the 256."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .operation import IntegerOperation, register_operation, unary

# Where a table starts: the least int8.
_LEAST = -128
_ENTRIES = 256


@register_operation
@dataclass(frozen=True)
class Table(IntegerOperation):
    """``values[element + 128]`` as int8, for every element of an int8 tensor of any shape.

    values : 256 numbers from -128 to 127, the first for -128, the last for 127.

    Raises
    ------
    ValueError
        for another count of values, or a value that is not int8.
    """

    op: ClassVar[str] = "table"

    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.values) != _ENTRIES:
            raise ValueError(f"a table of int8 has {_ENTRIES} values, got {len(self.values)}")
        wrong = [value for value in self.values if not -128 <= value <= 127]
        if wrong:
            raise ValueError(f"the values of a table must be from -128 to 127, got {wrong[0]}")

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        return (np.array(self.values, np.int8),)

    def compute(self, *values: te.Tensor) -> te.Tensor:
        elements, table = values

        def element(value: tirx.Expr, *at: tirx.Expr) -> tirx.Expr:
            return table[value.astype("int32") - tirx.const(_LEAST, "int32")]

        return unary(element, elements, "table")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (elements,) = inputs
        return self.constants[0][elements.astype(np.int32) - _LEAST]


def int8_values() -> np.ndarray:
    """The 256 values of int8 in the order of a table's entries."""
    return np.arange(_LEAST, _LEAST + _ENTRIES, dtype=np.int16).astype(np.int8)
