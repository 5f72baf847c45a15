"""Scales as integers and one scale: how a residual add weighs its operands, an average its sum.

The device adds ``A * a + B * b`` in int32 with int8 multipliers and scales the sum once.  Operands
worth ``scale_a`` and ``scale_b`` a step are added rightly where A : B is scale_a : scale_b.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

_MULTIPLIER_BITS = 7
MULTIPLIER_LIMIT = 2**_MULTIPLIER_BITS - 1


class Multipliers(NamedTuple):
    """``a * scale`` and ``b * scale`` are about the scales that were asked for."""

    a: int
    b: int
    scale: float


def integer_multipliers(scale_a: float, scale_b: float, powers_of_two: bool = False) -> Multipliers:
    """The multipliers in 0..127 with the least squared error of both scales, in lowest terms:
    1 and 1 for equal scales.  One of them is 0 where all of that operand comes to at most half a
    step of the other.

    ``powers_of_two``: the scales are, and so are the multipliers and the scale that is left; an
    operand then is 0 where it comes to at most a step of the other.
    """
    if not powers_of_two:
        return nearest_multipliers(scale_a, scale_b, 1)[0]
    pairs = _coprime_pairs()
    pairs = pairs[((pairs & (pairs - 1)) == 0).all(axis=1)]
    a, b = (int(value) for value in pairs[np.argmin(_distances(pairs, scale_a, scale_b))])
    return Multipliers(a, b, max(scale_a, scale_b) / max(a, b))


def nearest_multipliers(scale_a: float, scale_b: float, count: int) -> list[Multipliers]:
    """The ``count`` best ones, in the order of their squared errors."""
    pairs = _coprime_pairs()
    order = np.argsort(_distances(pairs, scale_a, scale_b), kind="stable")
    largest = max(scale_a, scale_b)
    scales = np.array([scale_a / largest, scale_b / largest])
    return [
        Multipliers(a, b, float((a * scales[0] + b * scales[1]) / (a * a + b * b)) * largest)
        for a, b in pairs[order[:count]].tolist()
    ]


def _distances(pairs: np.ndarray, scale_a: float, scale_b: float) -> np.ndarray:
    """Of the point (scale_a, scale_b) from the lines through (0, 0) and (A, B), relative to the
    larger one: products of scales may be less than a float holds."""
    largest = max(scale_a, scale_b)
    cross = pairs[:, 0] * (scale_b / largest) - pairs[:, 1] * (scale_a / largest)
    return np.abs(cross) / np.hypot(pairs[:, 0], pairs[:, 1])


def integer_factor(scale: float) -> tuple[int, float]:
    """A factor up to 127 and a power of two whose product is nearest to a scale, which is off by
    at most 1 part in 128."""
    mantissa, exponent = math.frexp(scale)
    factor = round(mantissa * (MULTIPLIER_LIMIT + 1))
    if factor > MULTIPLIER_LIMIT:
        return 1, 2.0**exponent
    shift = (factor & -factor).bit_length() - 1
    return factor >> shift, 2.0 ** (exponent - _MULTIPLIER_BITS + shift)


@cache
def _coprime_pairs() -> np.ndarray:
    """Pairs of multipliers of which each stands for another ratio, the smallest first."""
    a, b = (axis.reshape(-1) for axis in np.mgrid[: MULTIPLIER_LIMIT + 1, : MULTIPLIER_LIMIT + 1])
    pairs = np.stack([a, b], axis=1)[np.gcd(a, b) == 1]
    return pairs[np.argsort(pairs.sum(axis=1), kind="stable")]
