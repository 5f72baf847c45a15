"""Scales as TFLite's reference kernels have them: 32-bit multipliers and shifts.

A real multiplier is ``m / 2^31 * 2^shift`` with m in [2^30, 2^31). See TFLite's
``QuantizeMultiplier`` and ``MultiplyByQuantizedMultiplier``, gemmlowp's ``fixedpoint.h``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from tvm import tirx

BITS = 31


class FixedPoint(NamedTuple):
    """``multiplier / 2^31 * 2^shift``."""

    multiplier: int
    shift: int


def fixed_point(scale: float) -> FixedPoint:
    """The nearest to a scale that is not negative; 0 for one below 2^-32.

    Raises
    ------
    ValueError
        for a scale that is negative, not finite, or from 2^30 on.
    """
    if not 0 <= scale < 2.0**30:
        raise ValueError(f"a scale must be from 0 to 2^30, got {scale}")
    mantissa, shift = math.frexp(scale)
    # Half away from zero, as std::round.
    multiplier = math.floor(mantissa * 2.0**BITS + 0.5)
    if multiplier == 1 << BITS:
        multiplier, shift = multiplier // 2, shift + 1
    return FixedPoint(0, 0) if shift < -BITS else FixedPoint(multiplier, shift)


def multiply_twice_rounded(
    values: np.ndarray, multiplier: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """int32 values times fixed-point numbers: a doubling high product, rounded half up, shifted
    right and rounded half away from zero. All int64, values of int32 in them."""
    values = (values.astype(np.int64) << np.maximum(shift, 0)).astype(np.int32).astype(np.int64)
    high = (values * multiplier + (1 << (BITS - 1))) >> BITS
    right = np.maximum(-shift, 0)
    mask = (np.int64(1) << right) - 1
    above = (high & mask) > (mask >> 1) + (high < 0)
    return (high >> right) + above


def multiply_once_rounded(
    values: np.ndarray, multiplier: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """int32 values times fixed-point numbers, rounded half up."""
    right = BITS - shift
    return (values.astype(np.int64) * multiplier + (np.int64(1) << (right - 1))) >> right


def twice_rounded_expression(
    value: tirx.Expr, multiplier: tirx.Expr, shift: tirx.Expr
) -> tirx.Expr:
    """`multiply_twice_rounded` of one element; all int64."""
    zero, one = tirx.const(0, "int64"), tirx.const(1, "int64")
    # int32 before and after: what does not fit wraps around.
    left = (value << tirx.max(shift, zero)).astype("int32").astype("int64")
    high = (left * multiplier + tirx.const(1 << (BITS - 1), "int64")) >> tirx.const(BITS, "int64")
    right = tirx.max(-shift, zero)
    # Half away from zero is half up, and less than that of what is negative; without a shift there
    # are no halves. Each name of an expression is another copy of it for TVM: they are few.
    half = (one << right) >> one
    less = (high >> tirx.const(63, "int64")) * tirx.min(right, one)
    return (high + half + less) >> right


def once_rounded_expression(value: tirx.Expr, multiplier: tirx.Expr, shift: tirx.Expr) -> tirx.Expr:
    """`multiply_once_rounded` of one element; all int64."""
    one = tirx.const(1, "int64")
    right = tirx.const(BITS, "int64") - shift
    return (value * multiplier + (one << (right - one))) >> right
