"""TFLite's SOFTMAX of int8: exponentials from a table of float32, sums in their order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .operation import IntegerOperation, register_operation


@register_operation
@dataclass(frozen=True)
class Softmax(IntegerOperation):
    """Softmax over the last axis of int8, as int8.

    input_scale : the operand's, times softmax's own factor.
    scale, zero_point : the result's.
    """

    op: ClassVar[str] = "tflite_softmax"

    input_scale: float
    scale: float
    zero_point: int

    def __post_init__(self) -> None:
        if not (0 < self.input_scale < math.inf and 0 < self.scale < math.inf):
            raise ValueError(
                f"scales must be positive and finite, got {self.input_scale} and {self.scale}"
            )

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        """The exponential of what lies 0 to 255 below the largest."""
        exponents = -np.float32(self.input_scale) * np.arange(256, dtype=np.float32)
        return (np.exp(exponents.astype(np.float64)).astype(np.float32),)

    def compute(self, *values: te.Tensor) -> te.Tensor:
        value, table = values
        shape = tuple(map(int, value.shape))
        outer = (*shape[:-1], 1)
        over = te.reduce_axis((0, shape[-1]), "over")
        added = te.reduce_axis((0, shape[-1]), "added")
        largest = te.compute(
            outer, lambda *at: te.max(value(*at[:-1], over), axis=over), name="largest"
        )

        def exponential(at: tuple[tirx.Expr, ...], position: tirx.Expr) -> tirx.Expr:
            top = largest(*at[:-1], 0).astype("int32")
            return table[top - value(*at[:-1], position).astype("int32")]

        sums = te.compute(
            outer, lambda *at: te.sum(exponential(at, added), axis=added), name="exponential_sums"
        )

        def share(*at: tirx.Expr) -> tirx.Expr:
            total = sums(*at[:-1], 0) * tirx.const(self.scale, "float32")
            part = exponential(at, at[-1]) * (tirx.const(1.0, "float32") / total)
            rounded = (part + tirx.const(0.5, "float32")).astype("int32")
            result = rounded + tirx.const(self.zero_point, "int32")
            low, high = tirx.const(-128, "int32"), tirx.const(127, "int32")
            return tirx.max(tirx.min(result, high), low).astype("int8")

        return te.compute(shape, share, name="softmax")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (value,) = inputs
        wide = value.astype(np.int32)
        exponentials = self.constants[0][wide.max(-1, keepdims=True) - wide]
        # One after the other, as TFLite adds them.
        total = np.cumsum(exponentials, -1, dtype=np.float32)[..., -1:]
        parts = exponentials * (np.float32(1) / (total * np.float32(self.scale)))
        rounded = (parts + np.float32(0.5)).astype(np.int32)
        return np.clip(rounded + self.zero_point, -128, 127).astype(np.int8)
