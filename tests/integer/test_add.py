"""TFLite's ADD: the host computes what NumPy does, and both nearly the sum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_networks import evaluated

from npu_target.integer import Add

INT8 = st.integers(-128, 127)
SCALES = st.floats(0.01, 1.0)


@pytest.mark.parametrize("subtract", [False, True])
@pytest.mark.parametrize("shapes", [((3, 4, 5), (3, 4, 5)), ((3, 1, 5), (4, 1)), ((5,), (2, 3, 5))])
def test_host_computes_what_numpy_does(shapes, subtract):
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, shape).astype("int8") for shape in shapes]
    out = evaluated(Add((0.05, 0.13), (3, -20), 0.17, 5, -100, 90, subtract), *inputs)
    assert out.shape == np.broadcast_shapes(*shapes)
    assert len(np.unique(out)) > 10


@settings(max_examples=200)
@given(INT8, INT8, SCALES, SCALES, SCALES, INT8, INT8, INT8, st.booleans())
def test_the_sum_of_the_real_numbers_rounded(a, b, left, right, scale, za, zb, zero, subtract):
    operation = Add((left, right), (za, zb), scale, zero, subtract=subtract)
    (found,) = operation.evaluate(np.array([a], "int8"), np.array([b], "int8"))
    second = right * (b - zb)
    real = left * (a - za) + (-second if subtract else second)
    # Twenty more bits: what is lost on the way is far below the last rounding.
    assert abs(found - np.clip(real / scale + zero, -128, 127)) <= 0.5 + 2**-8


@pytest.mark.parametrize(
    ("scales", "scale", "message"),
    [
        ((0.0, 1.0), 1.0, "positive"),
        ((1.0, 1.0), -1.0, "positive"),
        ((9.0, 1.0), 1e-6, "too large"),
    ],
)
def test_wrong_numbers_are_refused(scales, scale, message):
    with pytest.raises(ValueError, match=message):
        Add(scales, (0, 0), scale, 0)
