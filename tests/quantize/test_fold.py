"""Folding batch normalization changes nothing but the number of operations."""

import warnings

import numpy as np
import pytest
from relax_functions import constant, function_of
from tvm import relax

from npu_target.host import build_host, run_host
from npu_target.quantize.calibrate import QuantizeError
from npu_target.quantize.fold import fold_batch_norm
from npu_target.relax_graph import Graph, op_name

RANDOM = np.random.default_rng(0)
SHAPES = {"NHWC": (1, 6, 5, 3), "NCHW": (1, 3, 6, 5)}
KERNELS = {"HWIO": (3, 3, 3, 4), "OIHW": (4, 3, 3, 3)}


def statistics(channels=4):
    return [constant(RANDOM.uniform(0.5, 2.0, channels).astype("float32")) for _ in range(4)]


def conv(x, layout="NHWC", kernel_layout="HWIO"):
    weight = constant(RANDOM.normal(size=KERNELS[kernel_layout]).astype("float32"))
    return relax.op.nn.conv2d(x, weight, padding=1, data_layout=layout, kernel_layout=kernel_layout)


def norm(emit, x, layout="NHWC", **options):
    options = {"training": False, **options}
    result = emit(relax.op.nn.batch_norm(x, *statistics(), axis=layout.find("C"), **options))
    return emit(result[0])


def ops(mod):
    graph = Graph(mod)
    return [op_name(graph.value[var]) for var in graph.order]


def assert_same_results(mod, folded, shape):
    x = RANDOM.normal(size=shape).astype("float32")
    for a, b in zip(run_host(build_host(mod), x), run_host(build_host(folded), x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("layout", "kernel_layout", "with_bias", "options"),
    [
        ("NHWC", "HWIO", False, {}),
        ("NHWC", "OIHW", True, {"scale": False}),
        ("NCHW", "HWIO", True, {"center": False}),
        ("NCHW", "OIHW", True, {}),
    ],
)
def test_a_norm_after_a_convolution_disappears(layout, kernel_layout, with_bias, options):
    bias_shape = (4,) if layout == "NHWC" else (4, 1, 1)

    def body(emit, x):
        y = emit(conv(x, layout, kernel_layout))
        if with_bias:
            bias = constant(RANDOM.normal(size=bias_shape).astype("float32"))
            y = emit(relax.op.add(y, bias))
        return norm(emit, y, layout, **options)

    mod = function_of([SHAPES[layout]], body)
    folded = fold_batch_norm(mod)
    assert ops(folded) == ["relax.nn.conv2d", "relax.add"]
    assert_same_results(mod, folded, SHAPES[layout])


def norm_of_the_input(emit, x):
    average = emit(relax.op.mean(x, [3], keepdims=True))
    return norm(emit, emit(relax.op.concat([x, average], axis=3)))


def two_users(emit, x):
    y = emit(conv(x))
    return emit(relax.op.add(norm(emit, y), y))


def other_axis(emit, x):
    y = emit(conv(emit(relax.op.strided_slice(x, [1, 2], [0, 0], [4, 4]))))
    result = emit(relax.op.nn.batch_norm(y, *statistics(), axis=1, training=False))
    return emit(result[0])


@pytest.mark.parametrize("body", [norm_of_the_input, two_users, other_axis])
def test_a_norm_that_cannot_be_folded_stays(body):
    mod = function_of([SHAPES["NHWC"]], body)
    folded = fold_batch_norm(mod)
    assert "relax.nn.batch_norm" in ops(folded)
    assert_same_results(mod, folded, SHAPES["NHWC"])


def test_a_norm_with_statistics_of_its_own_input_stays():
    mod = function_of([SHAPES["NHWC"]], lambda emit, x: norm(emit, emit(conv(x)), training=True))
    assert "relax.nn.batch_norm" in ops(fold_batch_norm(mod))


def test_more_than_float32_has_is_refused_without_a_warning():
    def huge(emit, x):
        weight = constant(np.full(KERNELS["HWIO"], 1e30, "float32"))
        result = emit(
            relax.op.nn.conv2d(x, weight, padding=1, kernel_layout="HWIO", data_layout="NHWC")
        )
        factor = constant(np.full(4, 1e30, "float32"))
        ones = constant(np.ones(4, "float32"))
        norm = relax.op.nn.batch_norm(result, factor, ones, ones, ones, axis=3, training=False)
        return emit(emit(norm)[0])

    mod = function_of([SHAPES["NHWC"]], huge)
    with warnings.catch_warnings(), pytest.raises(QuantizeError, match="more than float32 has"):
        warnings.simplefilter("error")
        fold_batch_norm(mod)
