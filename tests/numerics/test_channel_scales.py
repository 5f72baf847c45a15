"""One scale for each channel: what a device with one a block takes as it is, and what weights take
in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numerics.networks import Builder, inputs_of

from npu_target.device import preset
from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule
from npu_target.host import build_host, run_host
from npu_target.numerics import FAST, NumericsOptions, decide
from npu_target.numerics.channel_scales import folded
from npu_target.partition import partition

CONFIG = preset("gemmini-16x16")
# As of the blocks of a device with 16 channels each, the last of 8.
BLOCKS = np.repeat([0.002, 0.0005, 0.004], 16)[:40]


def network(rule, scale, channels=40, zero_point=0, depthwise=False):
    def body(b):
        b.conv("layer", channels, depthwise=depthwise)
        b.requantize("layer", rule, scale, zero_point)

    return Builder((1, 9, 9, channels if depthwise else 5)).make(body)


def outputs(mod, sample):
    return run_host(build_host(mod), *sample)[0]


@pytest.mark.parametrize("depthwise", [False, True])
def test_a_scale_for_each_block_is_the_device_s_own(depthwise):
    mod = network("float32", BLOCKS, depthwise=depthwise)
    decided = decide(mod, CONFIG)
    (layer,) = decided.layers
    assert layer.is_on_device and layer.is_exact
    assert layer.form == "the device's own rule, one for each block"
    (region,) = partition(decided.mod, CONFIG).regions
    assert region.operator.scale == tuple(np.float32(BLOCKS).tolist())
    for sample in inputs_of(mod, 2):
        np.testing.assert_array_equal(outputs(decided.mod, sample), outputs(mod, sample))


def test_a_rule_is_compared_block_by_block():
    """A zero point of whole sums for each of two scales is exact, with biases of their own."""
    scale = np.repeat([1 / 64, 1 / 128], 16)
    mod = network("float32_zp", scale, 32, zero_point=-6)
    (layer,) = decide(mod, CONFIG).layers
    assert layer.is_exact and layer.form == "zero point in the bias, one for each block"
    (sample,) = inputs_of(mod, 1)
    np.testing.assert_array_equal(outputs(decide(mod, CONFIG).mod, sample), outputs(mod, sample))
    other = network("float32_zp", scale * 0.77, 32, zero_point=-6)
    (layer,) = decide(other, CONFIG).layers
    assert not layer.is_on_device and "steps would be at another sum" in layer.why


def test_channels_of_a_block_that_differ_are_not_exact():
    scale = BLOCKS.copy()
    scale[3] *= 1.5
    (layer,) = decide(network("float32", scale), CONFIG).layers
    assert not layer.is_on_device
    assert layer.why == "40 scales, one a channel: the device has one for each 16 channels"
    (layer,) = decide(network("float32", BLOCKS), preset("vta-1x16x16")).layers
    assert layer.why == "40 scales, one a channel: the device has one a store"


def test_fast_is_nearer_with_a_scale_for_each_block():
    """Of channels whose scales lie far apart from block to block, and little within one."""
    random = np.random.default_rng(0)
    scale = BLOCKS * random.uniform(0.7, 1, 40)
    mod = network("float32", scale)
    found = decide(mod, CONFIG, NumericsOptions(FAST))
    (layer,) = found.layers
    assert layer.form == "scales in the weights and one for each 16 channels"
    (region,) = partition(found.mod, CONFIG).regions
    assert len(set(region.operator.scale)) == 3
    (sample,) = inputs_of(mod, 1)
    apart = outputs(found.mod, sample).astype(int) - outputs(mod, sample)
    weight = random.integers(-127, 128, (3, 3, 5, 40)).astype(np.int8)
    snr = {
        block: folded(weight, scale, np.zeros(40, np.int64), (0, 0), ScaleRule(), block).snr_db
        for block in (None, 16)
    }
    assert snr[16] > snr[None] + 0.5
    assert 0 < np.abs(apart).max() <= 2


@given(st.data())
def test_weights_and_bias_are_what_was_wanted_but_for_rounding(data):
    random = np.random.default_rng(data.draw(st.integers(0, 1000), "seed"))
    channels, block = data.draw(st.integers(1, 40)), data.draw(st.sampled_from([None, 4, 16]))
    rule = data.draw(st.sampled_from([ScaleRule(), ShiftRule()]))
    scales = 2.0 ** -random.uniform(4, 12, channels)
    weight = random.integers(-127, 128, (3, 7, channels)).astype(np.int8)
    bias = random.integers(-5000, 5000, channels)
    zero_in, zero_out = (data.draw(st.integers(-128, 127)) for _ in range(2))
    found = folded(weight, scales, bias, (zero_in, zero_out), rule, block)
    size = block or channels
    for first in range(0, channels, size):
        part = slice(first, first + size)
        assert len(set(found.scale[part])) == 1
        assert (scales[part] * np.abs(weight).max((0, 1))[part] <= found.scale[part] * 127).all()
    apart = found.weight - weight * scales / found.scale
    assert (np.abs(apart) < 1.001).all()
    # Of inputs that are all the same nothing is lost.
    assert (np.abs(apart.sum((0, 1))) < 0.501).all()
    # Of an image that is the zero point all over, sums come to the same.
    wanted = (zero_in * weight.astype(int).sum((0, 1)) + bias) * scales + zero_out
    sums = zero_in * found.weight.astype(int).sum((0, 1)) + found.bias
    assert (np.abs(sums * found.scale - wanted) <= found.scale * 0.501).all()


def test_equal_scales_leave_weights_as_they_are():
    weight = np.arange(-40, 40, dtype=np.int8).reshape(2, 40)
    found = folded(weight, BLOCKS, np.zeros(40, np.int64), (0, 0), ScaleRule(), 16)
    np.testing.assert_array_equal(found.weight, weight)
    np.testing.assert_array_equal(found.scale, BLOCKS)
    assert found.snr_db == float("inf")
