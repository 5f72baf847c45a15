"""Activations that are part of an operator: bounds of integers, or functions of floats."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..operation import Operation

# TFLite's ActivationFunctionType, and the real numbers that each keeps to.
_BOUNDS: dict[int, tuple[float, float]] = {
    0: (-math.inf, math.inf),
    1: (0.0, math.inf),
    2: (-1.0, 1.0),
    3: (0.0, 6.0),
}


def fused_bounds(op: Operation) -> tuple[float, float]:
    """The real numbers that an operator's fused activation keeps its result to."""
    function = op.option("fused_activation_function", 0)
    if function not in _BOUNDS:
        raise op.refusal(f"its fused activation {function} is none of: none, ReLU, ReLU1, ReLU6")
    return _BOUNDS[function]


def integer_bounds(op: Operation, bounds: tuple[float, float]) -> tuple[int, int]:
    """Bounds as int8 numbers of the result, rounded as TFLite does."""
    result = op.result

    def quantized(bound: float, limit: int) -> int:
        if math.isinf(bound):
            return limit
        quotient = abs(float(np.float32(bound) / np.float32(result.scale)))
        # Further away than 256 steps is outside.
        steps = math.floor(min(quotient, 1024.0) + 0.5)
        return max(-128, min(127, result.zero_point + (steps if bound >= 0 else -steps)))

    return quantized(bounds[0], -128), quantized(bounds[1], 127)


def bounded(op: Operation, value: relax.Expr, bounds: tuple[float, float]) -> relax.Expr:
    """A float value kept to bounds, spelled as the quantizer of float networks knows it."""
    low, high = bounds
    if low == 0 and math.isinf(high):
        return relax.op.nn.relu(value)
    if math.isinf(low) and math.isinf(high):
        return value
    return relax.op.clip(value, low, high)


def with_activation(op: Operation, value: relax.Expr) -> relax.Expr:
    """A float result with the operator's fused activation."""
    bounds = fused_bounds(op)
    if math.isinf(bounds[0]) and math.isinf(bounds[1]):
        return value
    return bounded(op, op.emit(value, "linear"), bounds)
