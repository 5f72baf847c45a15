"""Requantization: its meaning as an expression, and its recognition, side by side.

The device multiplies by a float32 scale in float32, rounds half to even and saturates; ReLU
follows.  ``T.round`` rounds half to even on the host as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tvm import ir, tirx

INT8_MIN, INT8_MAX = -128.0, 127.0


class Requantized(NamedTuple):
    """``int8(clip(round(float32(value) * scale)))``; ``relu`` clips at 0 from below."""

    value: tirx.Expr
    scale: float
    relu: bool


def requantize(value: tirx.Expr, scale: float, relu: bool = False) -> tirx.Expr:
    """The int8 expression that the device computes of an integer ``value``."""
    scaled = tirx.Cast("float32", value) * tirx.FloatImm("float32", float(np.float32(scale)))
    return saturate(tirx.round(scaled), relu)


def saturate(value: tirx.Expr, relu: bool = False) -> tirx.Expr:
    """``value`` (float32 or int32) clipped to int8, to its non-negative half with ``relu``."""
    dtype = str(value.ty.dtype)
    low, high = (0.0 if relu else INT8_MIN), INT8_MAX
    if dtype == "float32":
        bounds = tirx.FloatImm(dtype, low), tirx.FloatImm(dtype, high)
    else:
        bounds = tirx.IntImm(dtype, int(low)), tirx.IntImm(dtype, int(high))
    return tirx.Cast("int8", tirx.Max(tirx.Min(value, bounds[1]), bounds[0]))


def match_requantize(expr: tirx.Expr) -> Requantized | None:
    """The parts of an expression made by :func:`requantize`, or None if it is another."""
    if not (isinstance(expr, tirx.Cast) and isinstance(expr.value, tirx.Max)):
        return None
    upper, low = expr.value.a, expr.value.b
    if not (isinstance(upper, tirx.Min) and isinstance(low, tirx.FloatImm)):
        return None
    rounded, high = upper.a, upper.b
    if not (isinstance(high, tirx.FloatImm) and high.value == INT8_MAX):
        return None
    if not (isinstance(rounded, ir.Call) and rounded.op.name == "tirx.round"):
        return None
    scaled = rounded.args[0]
    if isinstance(scaled, tirx.Mul):
        source, scale = scaled.a, scaled.b
        if not isinstance(scale, tirx.FloatImm):
            return None
        scale_value = float(scale.value)
    else:  # a multiplication by 1 is simplified away
        source, scale_value = scaled, 1.0
    if not (isinstance(source, tirx.Cast) and low.value in (0.0, INT8_MIN)):
        return None
    return Requantized(source.value, scale_value, low.value == 0.0)
