"""ONNX Runtime's QLinearSoftmax: the host computes what NumPy does, and both nearly softmax."""

import numpy as np
import pytest
from integer_networks import evaluated

from npu_target.integer import LinearSoftmax


@pytest.mark.parametrize("zero_point", [-128, 0, 60])
@pytest.mark.parametrize("shape", [(7,), (3, 17), (2, 3, 300)])
def test_host_computes_what_numpy_does(shape, zero_point):
    value = np.random.default_rng(0).integers(-128, 128, shape).astype("int8")
    out = evaluated(LinearSoftmax(0.03, 1 / 256, zero_point, shape[-1]), value)
    exponentials = np.exp(0.03 * value.astype(float))
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    assert np.abs(out - np.minimum(shares * 256 + zero_point, 127)).max() <= 0.51


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.0, 0.1, 0, 3), "positive"),
        ((0.1, np.inf, 0, 3), "positive"),
        ((0.1, 0.1, 128, 3), "zero point"),
    ],
)
def test_wrong_numbers_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        LinearSoftmax(*numbers)
