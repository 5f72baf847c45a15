"""TFLite's SOFTMAX of int8: the host computes what NumPy does, and both nearly softmax."""

import numpy as np
import pytest
from integer_networks import evaluated

from npu_target.integer import Softmax


@pytest.mark.parametrize("input_scale", [0.0005, 0.03, 0.3, 40.0])
@pytest.mark.parametrize("shape", [(7,), (3, 17), (2, 3, 4, 300)])
def test_host_computes_what_numpy_does(shape, input_scale):
    value = np.random.default_rng(0).integers(-128, 128, shape).astype("int8")
    out = evaluated(Softmax(input_scale), value)
    # Differences are scaled as far as the least one that counts.
    exponentials = np.exp(input_scale * (value.astype(float) - value.max(-1, keepdims=True)))
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    assert np.abs(out - np.clip(shares * 256 - 128, -128, 127)).max() <= 0.51


@pytest.mark.parametrize("length", [1, 2, 511, 4095])
def test_rows_of_equal_elements(length):
    """The longest have the largest sum that there is."""
    out = evaluated(Softmax(0.1), np.full((2, length), -128, "int8"))
    assert (out == min(round(256 / length) - 128, 127)).all()


def test_wrong_scales_are_refused():
    for scale in (0.0, 2.0**-26, np.inf, np.nan):
        with pytest.raises(ValueError, match="above"):
            Softmax(scale)
