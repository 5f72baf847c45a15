"""Rules of requantization: the host computes what NumPy does, and NumPy what the rule says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_networks import evaluated

from npu_target.integer import RULES, Requantize

INT32 = st.integers(-(2**31), 2**31 - 1)
SCALES = st.floats(2.0**-20, 0.9)


@pytest.mark.parametrize("channels", [1, 5])
@pytest.mark.parametrize("rule", RULES)
def test_host_computes_what_numpy_does(rule, channels):
    random = np.random.default_rng(0)
    scale = tuple(random.uniform(2.0**-9, 0.06, channels).tolist())
    zero_point = 0 if rule == "float32" else -7
    operation = Requantize(rule, scale, zero_point, low=-100, high=90)
    sums = random.integers(-3000, 3000, (4, 33, 5), dtype="int32")
    sums[0, :4, 0] = (-(2**31), 2**31 - 1, 0, -1)
    out = evaluated(operation, sums)
    assert len(np.unique(out)) > 100


@settings(deadline=None)
@given(INT32, SCALES)
def test_one_rounding_is_half_up_of_the_fixed_point_product(value, scale):
    operation = Requantize("tflite_single", (scale,))
    multiplier, shift = (int(number[0]) for number in operation.constants)
    exact = Fraction(value) * multiplier * Fraction(2) ** (shift - 31)
    rounded = (exact + Fraction(1, 2)).__floor__()
    assert operation.evaluate(np.array([value], "int32"))[0] == np.clip(rounded, -128, 127)


@settings(deadline=None)
@given(INT32, SCALES)
def test_two_roundings_are_each_at_most_a_half_off(value, scale):
    operation = Requantize("tflite_double", (scale,))
    multiplier, shift = (int(number[0]) for number in operation.constants)
    high = (Fraction(value) * multiplier / 2**31 + Fraction(1, 2)).__floor__()
    exact = Fraction(high) * Fraction(2) ** shift
    away = (abs(exact) + Fraction(1, 2)).__floor__() * (1 if exact >= 0 else -1)
    assert operation.evaluate(np.array([value], "int32"))[0] == np.clip(away, -128, 127)


@settings(deadline=None)
@given(SCALES)
def test_a_fixed_point_scale_has_31_bits(scale):
    multiplier, shift = (
        int(number[0]) for number in Requantize("tflite_single", (scale,)).constants
    )
    assert 2**30 <= multiplier < 2**31
    assert abs(multiplier * 2.0 ** (shift - 31) / scale - 1) <= 2**-31


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"rule": "nearest"}, "no rule is called 'nearest'"),
        ({"scale": ()}, "a scale is needed"),
        ({"scale": (float("nan"),)}, "finite"),
        ({"scale": (-1.0,)}, "from 0 to 2\\^30"),
        ({"zero_point": 128}, "zero point"),
        ({"rule": "float32", "zero_point": 1}, "no zero point"),
        ({"low": 5, "high": 4}, "bounds"),
    ],
)
def test_wrong_numbers_are_refused(numbers, message):
    given = {"rule": "tflite_double", "scale": (0.5,)} | numbers
    with pytest.raises(ValueError, match=message):
        Requantize(**given)
