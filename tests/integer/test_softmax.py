"""TFLite's SOFTMAX of int8: the host computes what NumPy does, and both nearly softmax."""

import numpy as np
import pytest
from integer_networks import evaluated

from npu_target.integer import Softmax


@pytest.mark.parametrize("shape", [(7,), (3, 17), (2, 3, 4, 300)])
def test_host_computes_what_numpy_does(shape):
    value = np.random.default_rng(0).integers(-128, 128, shape).astype("int8")
    out = evaluated(Softmax(0.03, 1 / 256, -128), value)
    exponentials = np.exp(0.03 * value.astype(float))
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    assert np.abs(out - np.clip(shares * 256 - 128, -128, 127)).max() <= 0.51


def test_wrong_scales_are_refused():
    with pytest.raises(ValueError, match="positive"):
        Softmax(0.0, 1 / 256, -128)
