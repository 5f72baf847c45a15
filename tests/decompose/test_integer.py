"""Integer operators that no device has: the same bytes when they are spelled in others, and these
are the device's."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from partition.integer_functions import (
    RANDOM,
    add_bias,
    constant,
    conv2d,
    int8,
    relu,
    requantize,
)
from relax_functions import function_of
from tvm import relax
from tvm.relax import op

from npu_target.device import preset
from npu_target.host import build_host, run_host
from npu_target.partition import partition

CONFIG = preset("gemmini-16x16")
QUICK = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))


def regions_of(shapes, body, config=CONFIG):
    """The regions of a function; all bytes are those of the function as it was."""
    mod = function_of(shapes, body, "int8")
    partitioned = partition(mod, config)
    inputs = [int8(*shape) for shape in shapes]
    wanted = run_host(build_host(mod), *inputs)
    found = run_host(build_host(partitioned.mod), *inputs)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert all(len(np.unique(a)) > 2 for a in wanted if a.size > 20)
    reasons = {decision.reason for decision in partitioned.decisions if decision.region is None}
    assert all(reason == "moves data only" for reason in reasons)
    return [region.operator for region in partitioned.regions]


@QUICK
@given(st.data())
def test_dilation(data):
    draw = data.draw
    dilation = [draw(st.integers(1, 4), "dilation") for _ in range(2)]
    kernel = [draw(st.integers(1, 3), "kernel") for _ in range(2)]
    strides = [draw(st.sampled_from([1, 1, 2]), "stride") for _ in range(2)]
    padding = [draw(st.integers(0, 3), "pad") for _ in range(4)]
    image = [draw(st.integers((k - 1) * d + 1, 14)) for k, d in zip(kernel, dilation, strict=True)]
    depthwise = draw(st.booleans(), "depthwise")
    channels = 5
    weight = int8(*kernel, 1 if depthwise else channels, channels)
    bias = np.int32([-2000, -500, 500, 2000, 5000])  # outputs of padding alone differ as well

    def body(emit, x):
        options = {"dilation": dilation, "strides": strides, "padding": padding}
        options["groups"] = channels if depthwise else 1
        y = emit(op.add(conv2d(emit, x, weight, **options), constant(bias)))
        return relu(emit, requantize(emit, y, 0.01))

    (operator,) = regions_of([(draw(st.integers(1, 2)), *image, channels)], body)
    assert operator.op == ("depthwise_conv2d" if depthwise else "conv2d")
    assert operator.bias and operator.relu


def test_small_images_need_no_more_products_than_the_kernel_has():
    def body(emit, x):
        return requantize(emit, conv2d(emit, x, int8(3, 3, 8, 8), dilation=4, padding=4))

    (operator,) = regions_of([(1, 16, 16, 8)], body)
    assert (operator.n, operator.kh, operator.macs) == (16, 3, 16 * 16 * 9 * 8 * 8)


@pytest.mark.long
@pytest.mark.parametrize(
    ("groups", "inputs", "outputs", "regions"),
    [(2, 3, 4, 1), (3, 16, 16, 3), (4, 20, 5, 4), (8, 4, 4, 2), (6, 1, 3, 2), (5, 7, 2, 3)],
)
def test_groups(groups, inputs, outputs, regions):
    weight = int8(3, 3, inputs, groups * outputs)

    def body(emit, x):
        y = conv2d(emit, x, weight, groups=groups, padding=1, strides=2)
        return relu(emit, requantize(emit, add_bias(emit, y, groups * outputs), 0.01))

    operators = regions_of([(1, 7, 6, groups * inputs)], body)
    assert len(operators) == regions
    assert all(operator.op == "conv2d" and operator.relu for operator in operators)


def test_groups_with_dilation():
    def body(emit, x):
        return requantize(emit, conv2d(emit, x, int8(3, 3, 16, 32), groups=2, dilation=2))

    assert [operator.n for operator in regions_of([(1, 9, 8, 32)], body)] == [4, 4]


@pytest.mark.parametrize("padding", [(1, 1, 1, 1), (0, 1, 1, 0)])
def test_max_pool_of_numbers_that_may_be_negative(padding):
    """All of them are: a padding of 0 would win."""

    def body(emit, x):
        below = emit(op.minimum(x, relax.const(np.int8(-5))))
        return emit(op.nn.max_pool2d(below, (3, 3), (2, 2), padding, layout="NHWC"))

    mod = function_of([(1, 9, 8, 5)], body, "int8")
    partitioned = partition(mod, CONFIG)
    assert [region.op for region in partitioned.regions] == ["max_pool2d"]
    x = RANDOM.integers(-128, -90, (1, 9, 8, 5)).astype("int8")
    (wanted,), (found,) = (run_host(build_host(m), x) for m in (mod, partitioned.mod))
    np.testing.assert_array_equal(found, wanted)
    assert found.max() < 0


@pytest.mark.parametrize(
    ("left", "right", "batch", "rows"),
    [
        ((2, 3, 4, 5), (2, 1, 5, 6), 2, 12),
        ((2, 2, 3, 4, 5), (2, 2, 1, 5, 6), 4, 12),
        ((1, 4, 5), (3, 5, 6), 3, 4),
        ((3, 4, 5), (1, 5, 6), 1, 12),
        ((4, 5), (3, 5, 6), 3, 4),
        ((2, 3, 4, 5), (3, 5, 6), 6, 4),
    ],
)
def test_products_of_batches_that_broadcast(left, right, batch, rows):
    def body(emit, a, b):
        y = emit(op.matmul(a, b, out_dtype="int32"), "product")
        return requantize(emit, add_bias(emit, y, 6), 0.01)

    (operator,) = regions_of([left, right], body)
    assert (operator.op, operator.batch, operator.m) == ("matmul", batch, rows)
