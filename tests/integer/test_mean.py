"""TFLite's MEAN: the host computes what NumPy does, and both nearly the mean."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_networks import evaluated

from npu_target.integer import Mean


@pytest.mark.parametrize("axes", [(1, 2), (3,), (0, 1, 2, 3)])
def test_host_computes_what_numpy_does(axes):
    value = np.random.default_rng(0).integers(-128, 128, (2, 7, 9, 5)).astype("int8")
    out = evaluated(Mean(axes, 4.0, 3, -5), value)
    assert all(out.shape[axis] == 1 for axis in axes)


@settings(max_examples=100)
@given(
    st.integers(1, 300),
    st.floats(0.01, 8.0),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(0, 1000),
)
def test_the_mean_of_the_real_numbers_rounded(count, scale, zero_in, zero, seed):
    value = np.random.default_rng(seed).integers(-128, 128, count).astype("int8")
    (found,) = Mean((0,), scale, zero_in, zero).evaluate(value)
    real = (value.astype(float).mean() - zero_in) * scale + zero
    # The first of two roundings is before the shift, which is that of the scale, and further to the
    # right for the count; the multiplier has at least 29 bits, for a sum of up to 17.
    shift = math.floor(math.log2(count)) - math.frexp(scale)[1]
    first = 0.5 * 2.0**-shift if shift > 0 else 0.0
    assert abs(found - np.clip(real, -128, 127)) <= 0.5 + first + 2**-10


@pytest.mark.parametrize(
    ("axes", "scale", "message"),
    [((), 1.0, "axes"), ((2, 1), 1.0, "axes"), ((-1,), 1.0, "axes"), ((1,), -1.0, "from 0 to")],
)
def test_wrong_numbers_are_refused(axes, scale, message):
    with pytest.raises(ValueError, match=message):
        Mean(axes, scale, 0, 0)
