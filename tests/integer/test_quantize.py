"""TFLite's QUANTIZE of floats: halves go away from zero."""

import numpy as np
import pytest
from integer_networks import evaluated

from npu_target.integer import Quantize


def test_host_computes_what_numpy_does():
    random = np.random.default_rng(0)
    value = random.normal(0, 40, (5, 600)).astype("float32")
    out = evaluated(Quantize(0.7, -9), value)
    assert len(np.unique(out)) > 200


def test_halves_and_what_is_just_below_them():
    below = np.nextafter(np.float32(0.5), np.float32(0))
    value = np.array([0.5, -0.5, 1.5, 2.5, -2.5, below, -below, 1e9, -1e9], "float32")
    out = evaluated(Quantize(1.0, 0), value)
    np.testing.assert_array_equal(out, [1, -1, 2, 3, -3, 0, 0, 127, -128])


def test_a_scale_that_float32_does_not_hold():
    with pytest.raises(ValueError, match="positive"):
        Quantize(1e-60, 0)
