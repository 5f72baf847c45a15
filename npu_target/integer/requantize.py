"""From int32 sums to int8, by the rules that frameworks have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from . import fixed_point
from .operation import IntegerOperation, register_operation, unary

# `float32`: times a float32 scale, rounded half to even: the device's own rule. `float32_zp`: the
# same with a zero point added after rounding (ONNX Runtime's, XNNPACK's). `tflite_double` and
# `tflite_single`: a fixed-point scale, rounded twice or once (TFLite's reference kernels).
FLOAT_RULES = ("float32", "float32_zp")
RULES = (*FLOAT_RULES, "tflite_single", "tflite_double")

_FLOAT32_MAX = float(np.finfo(np.float32).max)


@register_operation
@dataclass(frozen=True)
class Requantize(IntegerOperation):
    """``clip(round(sum * scale) + zero_point, low, high)`` as int8, by a rule.

    rule : one of `RULES`.
    scale : one, or one for each index of the last axis. The float rules round it to float32.
    low, high : where the result ends, a fused activation's bounds included.

    Raises
    ------
    ValueError
        for numbers that are none of the rule's.
    """

    op: ClassVar[str] = "requantize"

    rule: str
    scale: tuple[float, ...]
    zero_point: int = 0
    low: int = -128
    high: int = 127

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"no rule is called {self.rule!r}; there are: {', '.join(RULES)}")
        if not self.scale:
            raise ValueError("a scale is needed")
        for scale in self.scale:
            if not abs(scale) <= _FLOAT32_MAX:
                raise ValueError(f"a scale must be finite in float32, got {scale}")
            if self.rule not in FLOAT_RULES:
                fixed_point.fixed_point(scale)
        if not -128 <= self.zero_point <= 127:
            raise ValueError(f"a zero point must be from -128 to 127, got {self.zero_point}")
        if self.rule == "float32" and self.zero_point != 0:
            raise ValueError(f"the rule float32 has no zero point, got {self.zero_point}")
        if not -128 <= self.low <= self.high <= 127:
            raise ValueError(f"bounds must be from -128 to 127, got {self.low} and {self.high}")

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        if self.rule in FLOAT_RULES:
            return (np.array(self.scale, np.float32),)
        parts = [fixed_point.fixed_point(scale) for scale in self.scale]
        return tuple(np.array(part, np.int64) for part in zip(*parts, strict=True))

    def compute(self, *values: te.Tensor) -> te.Tensor:
        sums, *numbers = values

        def element(value: tirx.Expr, *at: tirx.Expr) -> tirx.Expr:
            channel = at[-1] if len(self.scale) > 1 else 0
            factors = [number[channel] for number in numbers]
            if self.rule in FLOAT_RULES:
                # In float as far as the bounds: int32 does not hold every rounded product.
                rounded = tirx.round(value.astype("float32") * factors[0])
                zero, low, high = (
                    tirx.const(float(number), "float32")
                    for number in (self.zero_point, self.low, self.high)
                )
            else:
                multiply = (
                    fixed_point.twice_rounded_expression
                    if self.rule == "tflite_double"
                    else fixed_point.once_rounded_expression
                )
                rounded = multiply(value.astype("int64"), *factors)
                zero, low, high = (
                    tirx.const(number, "int64") for number in (self.zero_point, self.low, self.high)
                )
            return tirx.max(tirx.min(rounded + zero, high), low).astype("int8")

        return unary(element, sums, "requantize")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (sums,) = inputs
        numbers = self.constants
        if self.rule in FLOAT_RULES:
            rounded = np.rint(sums.astype(np.float32) * numbers[0])
        elif self.rule == "tflite_double":
            rounded = fixed_point.multiply_twice_rounded(sums, *numbers)
        else:
            rounded = fixed_point.multiply_once_rounded(sums, *numbers)
        return np.clip(rounded + self.zero_point, self.low, self.high).astype(np.int8)
