"""Convolutions and dense layers are what TFLite's reference kernels compute, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tflite_models import Op, T, compare, imported, model, numbers, one_operator, random_inputs

from npu_target.frontend import FrontendError

SAME, VALID = 0, 1
FEW = settings(max_examples=6)
ONES = np.ones((4, 3, 3, 4), np.int8)
SEEDS = st.integers(0, 2**32 - 1)
FUSED = st.sampled_from([0, 1, 2, 3])


def extent(taken, kernel, stride, dilation, padding):
    span = (kernel - 1) * dilation + 1
    return -(-taken // stride) if padding == SAME else (taken - span) // stride + 1


def windows(strides=(1, 1), dilation=(1, 1)):
    """Options of a convolution."""
    names = ("StrideH", "StrideW", "DilationHFactor", "DilationWFactor")
    return dict(zip(names, (*strides, *dilation), strict=True))


def weights(random, shape, dtype, axis, channels):
    """int8 with a scale for each channel or for all, uint8 with one and a zero point."""
    if dtype == "uint8":
        data = random.integers(0, 256, shape, np.uint8)
        return T.of(data, scale=0.01, zero_point=int(random.integers(0, 256)))
    data = random.integers(-127, 128, shape, np.int8)
    scale = random.uniform(0.001, 0.02, channels) if random.integers(2) else 0.01
    return T.of(data, scale=scale, axis=axis)


def bias_of(random, channels, operand, weight):
    """uint8 kernels look at the scale."""
    product = np.float32(operand.scale) * np.atleast_1d(np.float32(weight.scale))
    return T.of(random.integers(-5000, 5000, channels, np.int32), scale=product)


def result_scale(operand, depth):
    """Such that the result is spread over the range: of one digit, for sums halfway between."""
    return float(np.float32(f"{operand.scale * 0.01 * 1.5 * np.sqrt(depth):.0e}"))


@FEW
@given(
    seed=SEEDS,
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    padding=st.sampled_from([SAME, VALID]),
    fused=FUSED,
    groups=st.sampled_from([1, 1, 2]),
    dtype=st.sampled_from(["int8", "int8", "uint8"]),
)
def test_conv_2d(tmp_path_factory, seed, kernel, strides, dilation, padding, fused, groups, dtype):
    random = np.random.default_rng(seed)
    if dtype == "uint8":
        groups = 1  # more have the reference kernels of int8 only
    image = T((2, 9, 8, 3 * groups), **numbers(random, dtype))
    weight = weights(random, (4 * groups, *kernel, 3), dtype, 0, 4 * groups)
    sizes = [extent(*one, padding) for one in zip((9, 8), kernel, strides, dilation, strict=True)]
    result = T(
        (2, *sizes, 4 * groups),
        **numbers(random, dtype) | {"scale": result_scale(image, 3 * kernel[0] * kernel[1])},
    )
    content = one_operator(
        "CONV_2D",
        [image, weight, bias_of(random, 4 * groups, image, weight)],
        [result],
        "Conv2DOptions",
        **windows(strides, dilation),
        Padding=padding,
        FusedActivationFunction=fused,
    )
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(
    seed=SEEDS,
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.integers(1, 3),
    multiplier=st.integers(1, 3),
    padding=st.sampled_from([SAME, VALID]),
    fused=FUSED,
    dtype=st.sampled_from(["int8", "int8", "uint8"]),
)
def test_depthwise_conv_2d(
    tmp_path_factory, seed, kernel, stride, multiplier, padding, fused, dtype
):
    random = np.random.default_rng(seed)
    image = T((1, 9, 8, 5), **numbers(random, dtype))
    channels = 5 * multiplier
    weight = weights(random, (1, *kernel, channels), dtype, 3, channels)
    sizes = [extent(n, k, stride, 1, padding) for n, k in zip((9, 8), kernel, strict=True)]
    result = T(
        (1, *sizes, channels),
        **numbers(random, dtype) | {"scale": result_scale(image, kernel[0] * kernel[1])},
    )
    content = one_operator(
        "DEPTHWISE_CONV_2D",
        [image, weight, bias_of(random, channels, image, weight)],
        [result],
        "DepthwiseConv2DOptions",
        **windows((stride, stride)),
        Padding=padding,
        DepthMultiplier=multiplier,
        FusedActivationFunction=fused,
    )
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(
    seed=SEEDS,
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from([SAME, VALID]),
    less=st.integers(0, 1),
)
def test_transpose_conv(tmp_path_factory, seed, kernel, strides, padding, less):
    random = np.random.default_rng(seed)
    image = T((2, 4, 5, 3), **numbers(random))
    weight = weights(random, (4, *kernel, 3), "int8", 0, 4)
    if padding == SAME:
        sizes = [n * s - less * (s > 1) for n, s in zip((4, 5), strides, strict=True)]
    else:
        sizes = [(n - 1) * s + k for n, s, k in zip((4, 5), strides, kernel, strict=True)]
    shape = (2, *sizes, 4)
    result = T(shape, **numbers(random) | {"scale": result_scale(image, 3 * kernel[0])})
    content = one_operator(
        "TRANSPOSE_CONV",
        [T.of(np.array(shape, np.int32)), weight, image, bias_of(random, 4, image, weight)],
        [result],
        "TransposeConvOptions",
        Padding=padding,
        StrideH=strides[0],
        StrideW=strides[1],
    )
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(
    seed=SEEDS,
    shape=st.sampled_from([(5, 12), (1, 12), (2, 3, 12), (2, 2, 3, 4)]),
    keep=st.booleans(),
    fused=FUSED,
    dtype=st.sampled_from(["int8", "int8", "uint8"]),
)
def test_fully_connected(tmp_path_factory, seed, shape, keep, fused, dtype):
    random = np.random.default_rng(seed)
    keep = keep and shape[-1] == 12
    rows = int(np.prod(shape)) // 12
    operand = T(shape, **numbers(random, dtype))
    weight = weights(random, (7, 12), dtype, 0, 7)
    made = (*shape[:-1], 7) if keep else (rows, 7)
    result = T(made, **numbers(random, dtype) | {"scale": result_scale(operand, 12)})
    content = one_operator(
        "FULLY_CONNECTED",
        [operand, weight, bias_of(random, 7, operand, weight)],
        [result],
        "FullyConnectedOptions",
        FusedActivationFunction=fused,
        KeepNumDims=keep,
    )
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(seed=SEEDS, adjoint=st.booleans())
def test_batch_matmul(tmp_path_factory, seed, adjoint):
    random = np.random.default_rng(seed)
    left = T((2, 5, 12), **numbers(random))
    right = T((2, 7, 12) if adjoint else (2, 12, 7), **numbers(random))
    scale = float(np.float32(left.scale * right.scale * 250))
    result = T((2, 5, 7), **numbers(random) | {"scale": scale})
    content = one_operator(
        "BATCH_MATMUL", [left, right], [result], "BatchMatMulOptions", AdjX=False, AdjY=adjoint
    )
    compare(content, tmp_path_factory.mktemp("net"))


def convolution(weight, bias=None):
    """A 3x3 convolution of 4 channels."""
    bias = T.of(np.zeros(4, np.int32)) if bias is None else bias
    return one_operator(
        "CONV_2D",
        [T((1, 5, 5, 4), scale=0.1), weight, bias],
        [T((1, 5, 5, 4), scale=0.1)],
        "Conv2DOptions",
        **windows(),
        Padding=SAME,
    )


@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        (
            T.of(np.ones((4, 3, 3, 4), np.int8), scale=[0.1] * 4, axis=3),
            None,
            "along axis 3.*along 0",
        ),
        (T.of(np.ones((4, 3, 3, 4), np.int8), scale=[0.1] * 3), None, "3 scales along axis 0"),
        (T.of(np.ones((4, 3, 3, 4), np.int8), scale=0.0), None, "a scale must be positive"),
        (T.of(np.ones((4, 3, 3, 4), np.int8)), None, "has no scale"),
        (T.of(np.ones((4, 3, 3, 3), np.int8), scale=0.1), None, "do not fit an image"),
        (T((4, 3, 3, 4), scale=0.1), None, "must be a constant"),
        (
            T.of(ONES, scale=0.1),
            T.of(np.ones(4, np.int64), scale=1e-3),
            "its bias.*int64.*int32 for 4 channels",
        ),
        (
            T.of(ONES, scale=0.1),
            T.of(np.ones(4, np.int32), scale=0.2),
            "the scale of its bias.*is not the product",
        ),
    ],
)
def test_wrong_weights_are_refused(tmp_path, weight, bias, message):
    with pytest.raises(FrontendError, match=message):
        imported(convolution(weight, bias), tmp_path)


def test_a_bias_may_be_left_out(tmp_path):
    """The reference kernels want one of zeros there."""
    weight = T.of(np.arange(-72, 72, dtype=np.int8).reshape(4, 3, 3, 4), scale=0.01)
    tensors = [T((1, 5, 5, 4), scale=0.1, zero_point=4), weight, T((1, 5, 5, 4), scale=0.1)]
    op = Op("CONV_2D", [0, 1, -1], [2], "Conv2DOptions", {"StrideH": 1, "StrideW": 1})
    network = imported(model(tensors, [op], [0], [2]), tmp_path)
    assert network.integer
    assert random_inputs(network)[0].shape == (1, 5, 5, 4)
