"""Integers for two scales: as near as there are, and what an addition of them is worth."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.quantize.multipliers import (
    MULTIPLIER_LIMIT,
    integer_factor,
    integer_multipliers,
)

scales = st.floats(2.0**-40, 2.0**40, width=32)
ratios = st.floats(1.0, 2.0**20)


@given(scales)
def test_equal_scales_are_exact(scale):
    assert integer_multipliers(scale, scale) == (1, 1, scale)


@given(scales, ratios)
def test_operands_are_alike(scale, ratio):
    a, b, common = integer_multipliers(scale, scale * ratio)
    assert integer_multipliers(scale * ratio, scale) == (b, a, pytest.approx(common))


@given(scales, scales)
def test_no_integers_of_any_scale_are_nearer(scale_a, scale_b):
    found = integer_multipliers(scale_a, scale_b)
    assert min(found[:2]) >= 0 and max(found[:2]) <= MULTIPLIER_LIMIT
    assert math.gcd(found.a, found.b) == 1
    wanted = np.array([scale_a, scale_b])
    error = np.linalg.norm(np.array(found[:2]) * found.scale - wanted)
    near = [(found.a + i, found.b + j) for i, j in product((-1, 0, 1), repeat=2)]
    for other in [pair for pair in near if any(pair) and min(pair) >= 0 and max(pair) <= 127]:
        direction = np.array(other, dtype=float)
        best = direction * (direction @ wanted) / (direction @ direction)
        rounding = 1e-12 * np.linalg.norm(wanted)  # of either side, where both are near zero
        assert error <= np.linalg.norm(best - wanted) * (1 + 1e-9) + rounding


@given(scales, st.floats(1.0, 2.0**20))
def test_each_scale_is_off_by_at_most_half_a_step_of_the_other_operand(scale, ratio):
    a, b, common = integer_multipliers(scale, scale * ratio)
    # An operand has up to 128 steps.
    assert 128 * abs(a * common - scale) <= 0.51 * scale * ratio
    assert 128 * abs(b * common - scale * ratio) <= 0.51 * scale * ratio


@pytest.mark.parametrize("ratio", [0.9, 0.7, 0.41, 0.13, 0.03])
def test_few_sums_are_rounded_otherwise(ratio):
    """Of results of all sizes less than one in a hundred, and those by one."""
    random = np.random.default_rng(0)
    a, b = random.integers(-128, 128, (2, 100_000))
    by = integer_multipliers(1.0, ratio)
    wanted = np.clip(np.rint((a + b * ratio) * 0.5), -128, 127)
    scaled = (by.a * a + by.b * b).astype("float32") * np.float32(by.scale * 0.5)
    found = np.clip(np.rint(scaled), -128, 127)
    assert np.mean(found != wanted) < 0.01
    assert np.abs(found - wanted).max() <= 1


@settings(max_examples=30, deadline=None)
@given(st.floats(0.005, 1.0), st.floats(0.1, 0.95))
def test_all_pairs_are_off_by_one_at_most(ratio, scale):
    """Saturating ones as well: no operand is rounded, or cut off, before the sum is."""
    a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    by = integer_multipliers(scale, scale * ratio)
    wanted = np.clip(np.rint(a * scale + b * (scale * ratio)), -128, 127)
    scaled = (by.a * a + by.b * b).astype("float32") * np.float32(by.scale)
    found = np.clip(np.rint(scaled), -128, 127)
    assert np.abs(found - wanted).max() <= 1


@given(st.integers(-12, 12), st.integers(-40, 40))
def test_powers_of_two_stay_such(ratio, power):
    scale_a, scale_b = 2.0 ** (power + ratio), 2.0**power
    a, b, scale = integer_multipliers(scale_a, scale_b, powers_of_two=True)
    assert min(a, b) >= 0 and max(a, b) <= 64
    assert np.frexp(scale)[0] == 0.5
    # Of 127 steps of the smaller operand, no more than a step of the larger one is lost.
    larger = max(scale_a, scale_b)
    assert abs(a * scale - scale_a) * 127 <= larger
    assert abs(b * scale - scale_b) * 127 <= larger
    if abs(ratio) <= 6:
        assert (a * scale, b * scale) == (scale_a, scale_b)


@given(st.floats(1e-9, 1e3))
def test_a_factor_and_a_power_of_two_are_near_to_a_scale(scale):
    factor, power = integer_factor(scale)
    assert 1 <= factor <= 127 and np.frexp(power)[0] == 0.5
    assert abs(factor * power - scale) <= scale / 128
