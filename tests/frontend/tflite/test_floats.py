"""Networks of floats, and those with weights of fewer bits."""

import numpy as np
import pytest
from tflite_models import Op, T, compare, imported, model, one_operator

RANDOM = np.random.default_rng(0)
CLOSE = 1e-4


def f(*shape):
    return T(shape, "float32")


def data(*shape, dtype=np.float32):
    return T.of(RANDOM.normal(0, 1, shape).astype(dtype))


WINDOW = {"Padding": 0, "StrideH": 2, "StrideW": 2}
DILATION = {"DilationHFactor": 1, "DilationWFactor": 1}
POOL = {**WINDOW, "FilterHeight": 3, "FilterWidth": 2}

CASES = {
    "convolution": (
        "CONV_2D",
        [f(2, 9, 8, 5), data(7, 3, 2, 5), data(7)],
        [f(2, 5, 4, 7)],
        "Conv2DOptions",
        {**WINDOW, **DILATION, "FusedActivationFunction": 3},
    ),
    "depthwise": (
        "DEPTHWISE_CONV_2D",
        [f(2, 9, 8, 5), data(1, 3, 3, 10), data(10)],
        [f(2, 5, 4, 10)],
        "DepthwiseConv2DOptions",
        {**WINDOW, **DILATION, "DepthMultiplier": 2, "FusedActivationFunction": 1},
    ),
    "transposed": (
        "TRANSPOSE_CONV",
        [T.of(np.array([1, 8, 9, 7], np.int32)), data(7, 3, 3, 6), f(1, 4, 5, 6), data(7)],
        [f(1, 8, 9, 7)],
        "TransposeConvOptions",
        WINDOW,
    ),
    "dense": (
        "FULLY_CONNECTED",
        [f(2, 3, 12), data(7, 12), data(7)],
        [f(2, 3, 7)],
        "FullyConnectedOptions",
        {"KeepNumDims": True, "FusedActivationFunction": 2},
    ),
    "products": (
        "BATCH_MATMUL",
        [f(2, 3, 12), f(2, 7, 12)],
        [f(2, 3, 7)],
        "BatchMatMulOptions",
        {"AdjY": True},
    ),
    "average": ("AVERAGE_POOL_2D", [f(2, 9, 8, 5)], [f(2, 5, 4, 5)], "Pool2DOptions", POOL),
    "largest": ("MAX_POOL_2D", [f(2, 9, 8, 5)], [f(2, 5, 4, 5)], "Pool2DOptions", POOL),
    "mean": (
        "MEAN",
        [f(1, 4, 5, 6), T.of(np.array([1, 2], np.int32))],
        [f(1, 6)],
        "ReducerOptions",
        {"KeepDims": False},
    ),
    "sum": (
        "SUM",
        [f(1, 4, 5, 6), T.of(np.array([3], np.int32))],
        [f(1, 4, 5, 1)],
        "ReducerOptions",
        {"KeepDims": True},
    ),
    "softmax": ("SOFTMAX", [f(4, 6)], [f(4, 6)], "SoftmaxOptions", {"Beta": 0.5}),
    "logarithms": ("LOG_SOFTMAX", [f(4, 6)], [f(4, 6)], "LogSoftmaxOptions", {}),
    "lengths of 1": ("L2_NORMALIZATION", [f(2, 4, 6)], [f(2, 4, 6)], "L2NormOptions", {}),
    "squares": ("SQUARED_DIFFERENCE", [f(4, 6), f(6)], [f(4, 6)], "SquaredDifferenceOptions", {}),
    "slope": ("LEAKY_RELU", [f(4, 6)], [f(4, 6)], "LeakyReluOptions", {"Alpha": 0.25}),
    "slopes": ("PRELU", [f(1, 4, 5, 6), data(1, 1, 6)], [f(1, 4, 5, 6)], None, {}),
    "gelu": ("GELU", [f(4, 6)], [f(4, 6)], "GeluOptions", {"Approximate": False}),
    "gelu by tanh": ("GELU", [f(4, 6)], [f(4, 6)], "GeluOptions", {"Approximate": True}),
    "concatenation": (
        "CONCATENATION",
        [f(4, 6), f(4, 2)],
        [f(4, 8)],
        "ConcatenationOptions",
        {"Axis": 1},
    ),
    "pad": (
        "PADV2",
        [f(4, 6), T.of(np.array([[0, 1], [2, 0]], np.int32)), T.of(np.array([1.5], np.float32))],
        [f(5, 8)],
        "PadV2Options",
        {},
    ),
}
CASES |= {
    kind: (kind, [f(4, 60)], [f(4, 60)], None, {})
    for kind in ("ABS", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6", "SIN")
}
CASES |= {
    kind: (
        kind,
        [f(1, 4, 6), data(6)],
        [f(1, 4, 6)],
        f"{kind.capitalize()}Options",
        {"FusedActivationFunction": 1},
    )
    for kind in ("ADD", "SUB", "MUL", "DIV")
}


@pytest.mark.parametrize("case", CASES)
def test_nearly_what_tflite_computes(tmp_path, case):
    kind, inputs, outputs, table, options = CASES[case]
    content = one_operator(kind, inputs, outputs, table, **options)
    compare(content, tmp_path, tolerance=CLOSE)
    assert not imported(content, tmp_path).integer


def test_weights_of_16_bits(tmp_path):
    tensors = [
        f(2, 12),
        data(7, 12, dtype=np.float16),
        f(7, 12),
        data(7),
        f(2, 7),
    ]
    ops = [
        Op("DEQUANTIZE", [1], [2]),
        Op("FULLY_CONNECTED", [0, 2, 3], [4], "FullyConnectedOptions", {}),
    ]
    content = model(tensors, ops, [0], [4])
    compare(content, tmp_path, tolerance=CLOSE)
    assert not imported(content, tmp_path).integer


def test_weights_of_8_bits_in_a_network_of_floats(tmp_path):
    """TFLite quantizes the operand as it runs; here it stays float."""
    weight = T.of(RANDOM.integers(-127, 128, (7, 12), np.int8), scale=[0.01] * 7)
    content = one_operator(
        "FULLY_CONNECTED", [f(2, 12), weight, data(7)], [f(2, 7)], "FullyConnectedOptions"
    )
    network = imported(content, tmp_path)
    compare(content, tmp_path, tolerance=0.1)
    assert not network.integer


def test_floats_around_integers(tmp_path):
    """Quantized, a layer in integers, back to floats."""
    product = float(np.float32(0.05) * np.float32(0.01))
    tensors = [
        f(2, 12),
        T((2, 12), scale=0.05, zero_point=-3),
        T.of(RANDOM.integers(-127, 128, (7, 12), np.int8), scale=0.01),
        T.of(
            RANDOM.integers(-100, 100, 7, np.int32),
            scale=product,
        ),
        T((2, 7), scale=0.1, zero_point=5),
        f(2, 7),
    ]
    ops = [
        Op("QUANTIZE", [0], [1]),
        Op("FULLY_CONNECTED", [1, 2, 3], [4], "FullyConnectedOptions", {}),
        Op("DEQUANTIZE", [4], [5]),
    ]
    content = model(tensors, ops, [0], [5])
    compare(content, tmp_path)
    network = imported(content, tmp_path)
    assert network.integer
    assert network.inputs[0].quantization is None
