"""Ranges and scales."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from npu_target.quantize.calibrate import Method, QuantizeError, RangeObserver, scale_of

VALUES = arrays("float32", st.integers(1, 200), elements=st.floats(-1e6, 1e6, width=32))


def observed(*tensors):
    observer = RangeObserver("t")
    for tensor in tensors:
        observer.update(tensor)
    return observer


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_minmax_is_the_largest_magnitude_and_no_method_goes_beyond(tensors):
    observer = observed(*tensors)
    largest = max(float(np.abs(t).max()) for t in tensors)
    assert observer.threshold(Method.MINMAX) == largest
    for method in Method:
        assert 0 <= observer.threshold(method) <= largest


@given(st.lists(VALUES, min_size=2, max_size=4), st.sampled_from(Method))
def test_the_order_of_inputs_matters_little(tensors, method):
    forth, back = observed(*tensors), observed(*tensors[::-1])
    largest = forth.threshold(Method.MINMAX)
    # Bins are merged as the range grows, so that their width depends on the order.
    if method is Method.MINMAX:
        assert forth.threshold(method) == back.threshold(method)
    else:
        assert abs(forth.threshold(method) - back.threshold(method)) <= 0.8 * largest


def quantization_error(values, threshold):
    scale = threshold / 127
    return float(np.mean((np.clip(np.rint(values / scale), -127, 127) * scale - values) ** 2))


@pytest.mark.parametrize("seed", range(3))
def test_least_squares_beats_clipping_nothing_when_there_are_outliers(seed):
    random = np.random.default_rng(seed)
    values = np.concatenate([random.normal(size=20000), [30.0]]).astype("float32")
    observer = observed(values)
    best = observer.threshold(Method.MSE)
    assert quantization_error(values, best) < quantization_error(values, 30.0)
    for factor in (0.8, 1.25):
        assert quantization_error(values, best) <= quantization_error(values, best * factor) * 1.02


def test_percentile_leaves_a_ten_thousandth_outside():
    values = np.linspace(0, 1, 100001, dtype="float32")[1:]
    assert observed(values).threshold(Method.PERCENTILE) == pytest.approx(0.9999, abs=1e-3)


def test_zeros_have_a_scale_and_do_not_disturb():
    assert scale_of(observed(np.zeros(5, "float32")).threshold(Method.MSE)) == 1.0
    values = np.random.default_rng(0).normal(size=1000).astype("float32")
    with_zeros = np.concatenate([values, np.zeros(9000, "float32")])
    for method in Method:
        assert observed(values).threshold(method) == observed(with_zeros).threshold(method)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(wrong):
    with pytest.raises(QuantizeError, match="conv7: a value is infinite or not a number"):
        RangeObserver("conv7").update(np.array([1.0, wrong], "float32"))
