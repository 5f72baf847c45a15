"""TFLite's HARD_SWISH of 8 bits, in fixed-point numbers of 16 bits."""

from __future__ import annotations

import numpy as np

from ....integer.fixed_point import fixed_point
from ....integer.table import int8_values
from ..operation import Affine

_MORE_BITS = 7
_LEAST, _MOST = -(1 << 15), (1 << 15) - 1


def hard_swish_values(operand: Affine, result: Affine, dtype: str) -> np.ndarray:
    """``x * min(max(x + 3, 0), 6) / 6`` for each int8, as the reference kernels compute it.

    Raises
    ------
    ValueError
        where a step of the result is below a 128th of the operand's.
    """
    fine = np.float32(1 / 128) * np.float32(operand.scale)
    scale = _sixteen_bits(float(fine / np.float32(result.scale)))
    slope = _sixteen_bits(float(fine / np.float32(3 / 32768)))
    if scale[1] > 0:
        raise ValueError(f"scales {operand.scale} and {result.scale} are too far apart")
    values = (int8_values().astype(np.int64) - operand.zero_point) << _MORE_BITS
    on_result = _high_rounded(values, scale[0])
    # x from -3..3 to -1..1, with saturation.
    share = values
    if slope[1] > 0:
        share = _saturated(share << (slope[1] - 1))
    share = _high_rounded(share, slope[0])
    if slope[1] > 0:
        share = _saturated(share << 1)
    elif slope[1] < 0:
        share = _shifted(share, -slope[1])
    share = (share + (1 << 15)) >> 1  # 0..1
    # Truncated, not rounded: it evens out the roundings above.
    product = share * on_result
    high = np.sign(product) * (np.abs(product) >> 15)
    return _shifted(high, -scale[1]) + result.zero_point


def _sixteen_bits(scale: float) -> tuple[int, int]:
    """A fixed-point number of 16 bits, and its shift."""
    multiplier, shift = fixed_point(scale)
    return min((multiplier + (1 << 15)) >> 16, _MOST), shift


def _saturated(values: np.ndarray) -> np.ndarray:
    return np.clip(values, _LEAST, _MOST)


def _high_rounded(values: np.ndarray, factor: int) -> np.ndarray:
    """The high half of twice the product: rounded half away from zero."""
    product = values * factor
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return np.sign(nudged) * (np.abs(nudged) >> 15)


def _shifted(values: np.ndarray, right: int) -> np.ndarray:
    """Shifted right, rounded half away from zero."""
    mask = (1 << right) - 1
    above = (values & mask) > (mask >> 1) + (values < 0)
    return (values >> right) + above
