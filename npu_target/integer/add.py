"""TFLite's ADD and SUB: operands brought to one scale with 20 more bits, added, brought back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .fixed_point import (
    FixedPoint,
    fixed_point,
    multiply_twice_rounded,
    twice_rounded_expression,
)
from .operation import IntegerOperation, register_operation

_MORE_BITS = 20


@register_operation
@dataclass(frozen=True)
class Add(IntegerOperation):
    """``a + b``, or ``a - b``, of int8 tensors with scales and zero points of their own, as int8.

    Each operand is rounded twice on its way to the common scale, and so is the sum on its way to
    the result's: what TFLite's reference kernels compute. Shapes are broadcast.

    Raises
    ------
    ValueError
        for scales that the fixed-point numbers do not hold.
    """

    op: ClassVar[str] = "tflite_add"

    scales: tuple[float, float]
    zero_points: tuple[int, int]
    scale: float
    zero_point: int
    low: int = -128
    high: int = 127
    subtract: bool = False

    def __post_init__(self) -> None:
        if min(*self.scales, self.scale) <= 0:
            raise ValueError(f"scales must be positive, got {self.scales} and {self.scale}")
        if self._common_scale >= self.scale * 2.0**_MORE_BITS:
            raise ValueError(f"scales {self.scales} are too large for a sum of scale {self.scale}")

    @property
    def _common_scale(self) -> float:
        return 2 * max(self.scales)

    @property
    def _operand_factors(self) -> tuple[FixedPoint, ...]:
        return tuple(fixed_point(scale / self._common_scale) for scale in self.scales)

    @property
    def _factor(self) -> FixedPoint:
        return fixed_point(self._common_scale / (2.0**_MORE_BITS * self.scale))

    def compute(self, *values: te.Tensor) -> te.Tensor:
        shape = np.broadcast_shapes(*(tuple(map(int, value.shape)) for value in values))

        def element(*at: tirx.Expr) -> tirx.Expr:
            left, right = (
                _scaled(_element_of(value, at), zero_point, factor)
                for value, zero_point, factor in zip(
                    values, self.zero_points, self._operand_factors, strict=True
                )
            )
            total = left - right if self.subtract else left + right
            result = _times(total, self._factor) + _wide(self.zero_point)
            return tirx.max(tirx.min(result, _wide(self.high)), _wide(self.low)).astype("int8")

        return te.compute(shape, element, name="add")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        left, right = (
            multiply_twice_rounded(
                (value.astype(np.int64) - zero_point) << _MORE_BITS, *map(np.int64, factor)
            )
            for value, zero_point, factor in zip(
                inputs, self.zero_points, self._operand_factors, strict=True
            )
        )
        total = left - right if self.subtract else left + right
        result = multiply_twice_rounded(total, *map(np.int64, self._factor)) + self.zero_point
        return np.clip(result, self.low, self.high).astype(np.int8)


def _element_of(value: te.Tensor, at: tuple[tirx.Expr, ...]) -> tirx.Expr:
    """The element of a tensor that belongs to an element of what it is broadcast to."""
    behind = at[len(at) - len(value.shape) :]
    return value(
        *(
            0 if int(extent) == 1 else index
            for extent, index in zip(value.shape, behind, strict=True)
        )
    )


def _scaled(value: tirx.Expr, zero_point: int, factor: FixedPoint) -> tirx.Expr:
    return _times((value.astype("int64") - _wide(zero_point)) << _wide(_MORE_BITS), factor)


def _times(value: tirx.Expr, factor: FixedPoint) -> tirx.Expr:
    return twice_rounded_expression(value, _wide(factor.multiplier), _wide(factor.shift))


def _wide(number: int) -> tirx.Expr:
    return tirx.const(number, "int64")
