"""TFLite's QUANTIZE of floats: divided, rounded half away from zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .operation import IntegerOperation, register_operation, unary


@register_operation
@dataclass(frozen=True)
class Quantize(IntegerOperation):
    """``clip(round(x / scale) + zero_point, -128, 127)`` of float32 as int8.

    Raises
    ------
    ValueError
        for a scale that is not positive in float32.
    """

    op: ClassVar[str] = "tflite_quantize"

    scale: float
    zero_point: int

    def __post_init__(self) -> None:
        if not np.float32(self.scale) > 0:
            raise ValueError(f"a scale must be positive, got {self.scale}")

    def compute(self, *values: te.Tensor) -> te.Tensor:
        def element(value: tirx.Expr, *_: tirx.Expr) -> tirx.Expr:
            quotient = value / tirx.const(self.scale, "float32")
            whole = tirx.trunc(quotient)
            one = tirx.Select(
                quotient < tirx.const(0.0, "float32"),
                tirx.const(-1.0, "float32"),
                tirx.const(1.0, "float32"),
            )
            far = tirx.abs(quotient - whole) >= tirx.const(0.5, "float32")
            rounded = whole + tirx.Select(far, one, tirx.const(0.0, "float32"))
            result = rounded + tirx.const(float(self.zero_point), "float32")
            low, high = tirx.const(-128.0, "float32"), tirx.const(127.0, "float32")
            return tirx.max(tirx.min(result, high), low).astype("int8")

        return unary(element, values[0], "quantize")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        quotient = inputs[0] / np.float32(self.scale)
        whole = np.trunc(quotient)
        far = np.abs(quotient - whole) >= np.float32(0.5)
        rounded = whole + np.where(far, np.copysign(np.float32(1), quotient), np.float32(0))
        return np.clip(rounded + np.float32(self.zero_point), -128, 127).astype(np.int8)
