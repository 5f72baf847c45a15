"""A sum of two int8 tensors by float32 factors, as ONNX Runtime's QLinearAdd has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .operation import IntegerOperation, register_operation

_UNSIGNED = 128


@register_operation
@dataclass(frozen=True)
class LinearAdd(IntegerOperation):
    """``clip(round(a * ra + (b * rb + offset)), low, high)`` as int8, rounded half to even.

    ``ra`` and ``rb`` are float32 quotients of the scales, ``offset = zero_point - (ra *
    zero_point_a + rb * zero_point_b)`` in float32; products with ``ra``, and that with ``b``, are
    added before they are rounded, as fused instructions do. See MLAS, ``qladd_avx2.cpp``.

    scales, zero_points : of a, of b and of the result; a negative scale subtracts.
    unsigned : whether the file has the tensors as uint8. The float32 numbers then are those of
        int8 + 128; ``zero_points``, ``low`` and ``high`` are those of int8 in either case.

    Raises
    ------
    ValueError
        for numbers that no such sum has.
    """

    op: ClassVar[str] = "linear_add"

    scales: tuple[float, float, float]
    zero_points: tuple[int, int, int] = (0, 0, 0)
    low: int = -128
    high: int = 127
    unsigned: bool = False

    def __post_init__(self) -> None:
        *_, result = self.scales
        if not (np.isfinite(self.scales).all() and result > 0):
            raise ValueError(f"scales must be finite, the result's positive, got {self.scales}")
        with np.errstate(over="ignore", invalid="ignore"):
            (numbers,) = self.constants
        if not np.isfinite(numbers).all():
            raise ValueError(f"the quotients of {self.scales} must be finite in float32")
        if not all(-128 <= zero_point <= 127 for zero_point in self.zero_points):
            raise ValueError(f"zero points must be from -128 to 127, got {self.zero_points}")
        if not -128 <= self.low <= self.high <= 127:
            raise ValueError(f"bounds must be from -128 to 127, got {self.low} and {self.high}")

    @property
    def _shift(self) -> int:
        return _UNSIGNED if self.unsigned else 0

    def _factors(self) -> tuple[np.float32, np.float32]:
        a, b, result = (np.float32(scale) for scale in self.scales)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.float32(a / result), np.float32(b / result)

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        """(ra, rb, offset), float64 for what is added before it is rounded."""
        ra, rb = self._factors()
        a, b, result = (np.float32(point + self._shift) for point in self.zero_points)
        centre = np.float32(np.float64(ra) * np.float64(a) + np.float64(np.float32(rb * b)))
        offset = np.float32(result - centre)
        return (np.array([ra, rb, offset], np.float64),)

    def compute(self, *values: te.Tensor) -> te.Tensor:
        a, b, numbers = values
        shift = tirx.const(float(self._shift), "float64")

        def element(*at: tirx.Expr) -> tirx.Expr:
            # Products of 33 bits and float32 addends: float64 holds the sums.
            first = (b(*at).astype("float64") + shift) * numbers[1] + numbers[2]
            second = (a(*at).astype("float64") + shift) * numbers[0]
            total = (first.astype("float32").astype("float64") + second).astype("float32")
            low, high, centre = (
                tirx.const(float(number), "float32")
                for number in (self.low, self.high, self._shift)
            )
            return tirx.max(tirx.min(tirx.round(total) - centre, high), low).astype("int8")

        return te.compute(a.shape, element, name="linear_add")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        a, b = (values.astype(np.float64) + self._shift for values in inputs)
        ra, rb, offset = self.constants[0]
        first = (b * rb + offset).astype(np.float32)
        total = (first.astype(np.float64) + a * ra).astype(np.float32)
        return np.clip(np.rint(total) - self._shift, self.low, self.high).astype(np.int8)
