"""Averages of images: exact where every step is where it should be."""

import numpy as np
import pytest
from numerics.networks import Builder, inputs_of
from tvm import relax

from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.integer.average_pool import AveragePool
from npu_target.integer.mean import Mean
from npu_target.numerics import EXACT, FAST, NumericsOptions, decide
from npu_target.partition import partition

CONFIG = GemminiConfig()


def network(operation, shape):
    return Builder(shape).make(lambda b: b.operation(operation, "average"))


def corners(shape):
    """Images whose sums are halfway between two results as well as all others."""
    image = np.zeros(shape, "int8")
    count = shape[1] * shape[2]
    for channel in range(shape[3]):
        total = channel - shape[3] // 2
        each, rest = divmod(total, count)
        image[..., channel] = each + (np.arange(count) < rest).reshape(shape[1:3])
    return [image]


@pytest.mark.parametrize(
    ("operation", "shape", "op"),
    [
        (AveragePool((8, 8), (1, 1)), (1, 8, 8, 320), "global_avg_pool"),
        (AveragePool((7, 7), (1, 1), halves="up"), (1, 7, 7, 300), "global_avg_pool"),
        (AveragePool((2, 3), (2, 1)), (1, 8, 9, 20), "depthwise_conv2d"),
        (AveragePool((2, 2), (2, 2), low=-5, high=20), (1, 8, 8, 20), "depthwise_conv2d"),
    ],
)
@pytest.mark.parametrize("mode", [EXACT, FAST])
def test_averages_that_the_device_computes_exactly(operation, shape, op, mode):
    mod = network(operation, shape)
    decided = decide(mod, CONFIG, NumericsOptions(mode))
    (layer,) = decided.layers
    assert layer.is_on_device and layer.is_exact
    assert [region.op for region in partition(decided.mod, CONFIG).regions] == [op]
    exact, device = build_host(mod), build_host(decided.mod)
    for sample in (inputs_of(mod, 1)[0], corners(shape)):
        np.testing.assert_array_equal(run_host(device, *sample)[0], run_host(exact, *sample)[0])


@pytest.mark.parametrize(("zero_in", "zero_out"), [(-128, -128), (4, -7)])
def test_means_with_scales_and_zero_points(zero_in, zero_out):
    shape = (1, 7, 5, 400)
    mod = network(Mean((1, 2), 1.3, zero_in, zero_out), shape)
    exact = build_host(mod)
    for mode, most in ((EXACT, 0), (FAST, 1)):
        decided = decide(mod, CONFIG, NumericsOptions(mode))
        (layer,) = decided.layers
        assert layer.is_on_device == (mode == FAST)
        for sample in (inputs_of(mod, 1)[0], corners(shape)):
            found = run_host(build_host(decided.mod), *sample)[0].astype(int)
            assert np.abs(found - run_host(exact, *sample)[0]).max() <= most
    assert len(partition(decided.mod, CONFIG).regions) == 1


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize(
    ("rule", "zero_in", "zero_out", "op"),
    [
        ("float32", 0, 0, "global_avg_pool"),
        ("tflite_single", 0, 0, "global_avg_pool"),
        ("float32_zp", 3, -9, "depthwise_conv2d"),
    ],
)
def test_sums_of_pixels_that_are_requantized(rule, zero_in, zero_out, op, keepdims):
    shape = (1, 6, 7, 64)

    def body(b):
        b.emit(relax.op.astype(b.value, "int32"))
        b.emit(relax.op.sum(b.value, [1, 2], keepdims=keepdims))
        if zero_in:
            less = np.full((1, 1, 1, 64) if keepdims else (1, 64), -zero_in * 42, "int32")
            b.emit(relax.op.add(b.value, relax.const(less)))
        b.requantize("average", rule, 1.7 / 42, zero_out)

    mod = Builder(shape).make(body)
    exact = build_host(mod)
    for mode, most in ((EXACT, 0), (FAST, 1)):
        decided = decide(mod, CONFIG, NumericsOptions(mode))
        for sample in (inputs_of(mod, 1)[0], corners(shape)):
            found = run_host(build_host(decided.mod), *sample)[0].astype(int)
            assert np.abs(found - run_host(exact, *sample)[0]).max() <= most
    assert [region.op for region in partition(decided.mod, CONFIG).regions] == [op]


def test_averages_that_stay():
    def why(operation, shape):
        return decide(network(operation, shape), CONFIG, NumericsOptions(FAST)).layers[0].why

    assert "of fewer pixels" in why(AveragePool((2, 2), (1, 1), (0, 0, 1, 1)), (1, 8, 8, 4))
    assert "averages axes (3,)" in why(Mean((3,), 1.0, 0, 0), (1, 8, 8, 4))
    assert "of shape (8, 8)" in why(Mean((1,), 1.0, 0, 0), (8, 8))
