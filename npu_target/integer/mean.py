"""TFLite's MEAN: a sum times a fixed-point scale that the number of elements is divided out of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .fixed_point import (
    BITS,
    FixedPoint,
    fixed_point,
    multiply_twice_rounded,
    twice_rounded_expression,
)
from .operation import IntegerOperation, register_operation


@register_operation
@dataclass(frozen=True)
class Mean(IntegerOperation):
    """The mean of an int8 tensor over ``axes`` (sorted, from the front), which stay with extent 1.

    scale : the operand's over the result's.
    input_zero_point, zero_point : the operand's and the result's.

    Raises
    ------
    ValueError
        for numbers that are no axes or no fixed-point scale.
    """

    op: ClassVar[str] = "tflite_mean"

    axes: tuple[int, ...]
    scale: float
    input_zero_point: int
    zero_point: int

    def __post_init__(self) -> None:
        if list(self.axes) != sorted(set(self.axes)) or min(self.axes, default=-1) < 0:
            raise ValueError(f"axes must be sorted and counted from the front, got {self.axes}")
        fixed_point(self.scale)

    def _factor(self, count: int) -> FixedPoint:
        multiplier, shift = fixed_point(self.scale)
        more = min(count.bit_length() - 1, 32, BITS + shift)
        return FixedPoint((multiplier << more) // count, shift - more)

    def compute(self, *values: te.Tensor) -> te.Tensor:
        (value,) = values
        shape = tuple(map(int, value.shape))
        reduced = {axis: te.reduce_axis((0, shape[axis]), f"r{axis}") for axis in self.axes}
        out_shape = self._out_shape(shape)

        def total(*at: tirx.Expr) -> tirx.Expr:
            index = [reduced.get(axis, position) for axis, position in enumerate(at)]
            return te.sum(value(*index).astype("int32"), axis=list(reduced.values()))

        count = math.prod(shape[axis] for axis in self.axes)
        multiplier, shift = (tirx.const(part, "int64") for part in self._factor(count))
        sums = te.compute(out_shape, total, name="sums")

        def mean(*at: tirx.Expr) -> tirx.Expr:
            centred = sums(*at).astype("int64") - tirx.const(count * self.input_zero_point, "int64")
            result = twice_rounded_expression(centred, multiplier, shift)
            result = result + tirx.const(self.zero_point, "int64")
            low, high = tirx.const(-128, "int64"), tirx.const(127, "int64")
            return tirx.max(tirx.min(result, high), low).astype("int8")

        return te.compute(out_shape, mean, name="mean")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (value,) = inputs
        count = math.prod(value.shape[axis] for axis in self.axes)
        sums = value.astype(np.int64).sum(self.axes, keepdims=True) - count * self.input_zero_point
        means = multiply_twice_rounded(sums, *map(np.int64, self._factor(count)))
        return np.clip(means + self.zero_point, -128, 127).astype(np.int8)

    def _out_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(1 if axis in self.axes else extent for axis, extent in enumerate(shape))
