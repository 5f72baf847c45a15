"""The spelling of requantization means on LLVM what the device computes, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.integer_resnet import to_int8
from relax_functions import function_of

from npu_target.device.scale_rule import ScaleRule
from npu_target.host import build_host, run_host

SIZE = 4096


def requantizer(scale):
    class Emit:
        """The part of a block builder that rules use."""

        def __init__(self, emit):
            self.emit = emit

    def body(emit, x):
        return ScaleRule().emit(Emit(emit), x, scale, "y")

    return build_host(function_of([(SIZE,)], body, "int32"))


@pytest.mark.parametrize("scale", [0.5, 0.25, 1.0, 0.0078125])
def test_halves_are_rounded_to_even(scale):
    values = np.arange(-SIZE // 2, SIZE // 2, dtype="int32")
    (found,) = run_host(requantizer(scale), values)
    np.testing.assert_array_equal(found, np.clip(np.rint(values * scale), -128, 127))


@settings(max_examples=6, deadline=None)
@given(st.floats(2.0**-20, 4.0, width=32), st.integers(0, 2**32 - 1))
def test_random_sums_match_numpy(scale, seed):
    random = np.random.default_rng(seed)
    span = random.choice([200, 100_000, 2**31])
    values = random.integers(-span, span, SIZE).astype("int32")
    (found,) = run_host(requantizer(scale), values)
    np.testing.assert_array_equal(found, to_int8(values, np.float32(scale)))
