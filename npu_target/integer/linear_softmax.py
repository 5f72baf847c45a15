"""ONNX Runtime's QLinearSoftmax: exponentials from a table of float32, sums in their order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .below_largest import below_largest
from .operation import IntegerOperation, register_operation

_RESERVE = 5.0  # what the logarithm of the largest sum stays below that of the largest float32
_FLOAT32_MAX = np.finfo(np.float32).max


@register_operation
@dataclass(frozen=True)
class LinearSoftmax(IntegerOperation):
    """Softmax over the last axis of int8, as int8: ``round(e * steps / sum(e)) + zero_point`` in
    float32, saturated; ``steps`` is the whole part of ``1 / scale``.

    input_scale : the operand's.
    scale, zero_point : the result's.
    length : of the last axis. The exponentials are as large as so many can be.

    Raises
    ------
    ValueError
        for scales that are not positive and finite, and a zero point that int8 does not hold.
    """

    op: ClassVar[str] = "linear_softmax"

    input_scale: float
    scale: float
    zero_point: int
    length: int

    def __post_init__(self) -> None:
        if not (0 < self.input_scale < math.inf and 0 < self.scale < math.inf):
            raise ValueError(
                f"scales must be positive and finite, got {self.input_scale} and {self.scale}"
            )
        if not -128 <= self.zero_point <= 127:
            raise ValueError(f"a zero point must be from -128 to 127, got {self.zero_point}")

    @property
    def _steps(self) -> np.float32:
        return np.floor(np.float32(1) / np.float32(self.scale))

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        """The exponential of what lies 0 to 255 below the largest, times one factor."""
        largest = np.log(_FLOAT32_MAX / np.float32(self.length))
        shift = max(0.0, float(largest) - _RESERVE) / self.input_scale
        exponents = (shift - np.arange(256, dtype=np.float64)) * self.input_scale
        return (np.exp(exponents).astype(np.float32),)

    def compute(self, *values: te.Tensor) -> te.Tensor:
        value, table = values
        shape = tuple(map(int, value.shape))
        outer = (*shape[:-1], 1)
        added = te.reduce_axis((0, shape[-1]), "added")
        exponential = below_largest(value, table)
        sums = te.compute(
            outer, lambda *at: te.sum(exponential(at, added), axis=added), name="exponential_sums"
        )

        def share(*at: tirx.Expr) -> tirx.Expr:
            steps = tirx.const(float(self._steps), "float32")
            share = exponential(at, at[-1]) * steps / sums(*at[:-1], 0)
            result = tirx.round(share) + tirx.const(float(self.zero_point), "float32")
            return tirx.min(result, tirx.const(127.0, "float32")).astype("int8")

        return te.compute(shape, share, name="softmax")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (value,) = inputs
        wide = value.astype(np.int32)
        exponentials = self.constants[0][wide.max(-1, keepdims=True) - wide]
        # One after the other, as they are added there.
        total = np.cumsum(exponentials, -1, dtype=np.float32)[..., -1:]
        rounded = np.rint(exponentials * self._steps / total)
        return np.minimum(rounded + self.zero_point, 127).astype(np.int8)
