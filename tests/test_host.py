"""The host's own schedule changes no bit of a result."""

import numpy as np
import pytest
from partition.integer_functions import conv2d, requantize
from relax_functions import constant, function_of
from tvm import relax
from tvm.relax import op

from npu_target.host import build_host, run_host

RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def conv(emit, x):
    kernel = constant(normal(3, 3, 6, 10))
    layout = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    return emit(op.nn.relu(emit(op.nn.conv2d(x, kernel, padding=1, **layout))))


def large_conv(emit, x):
    return conv(emit, emit(op.tile(x, (1, 4, 4, 1))))


def pool_and_dense(emit, x):
    y = emit(op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1), layout="NHWC"))
    y = emit(op.mean(y, [1, 2]))
    return emit(op.matmul(y, constant(normal(6, 5))))


def products_of_many_rows(emit, x):
    y = emit(op.reshape(x, (3, 18, 11)))
    y = emit(op.matmul(y, constant(normal(11, 12))))
    return emit(op.matmul(y, emit(op.permute_dims(y, [0, 2, 1]))))


def reductions_of_everything(emit, x):
    return relax.Tuple([emit(op.sum(x)), emit(op.max(x, [3])), emit(op.nn.softmax(x, 2))])


BODIES = [conv, large_conv, pool_and_dense, products_of_many_rows, reductions_of_everything]


@pytest.mark.parametrize("body", BODIES)
def test_results_are_those_of_the_stock_pipeline(body):
    mod = function_of([(1, 9, 11, 6)], body)
    x = normal(1, 9, 11, 6)
    stock = run_host(relax.build(mod, "llvm"), x)
    for a, b in zip(stock, run_host(build_host(mod), x), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(0, 9, 11, 6), (1, 9, 0, 6)])
def test_empty_tensors(shape):
    mod = function_of([shape], lambda emit, x: emit(op.nn.relu(emit(op.sum(x, [3])))))
    (found,) = run_host(build_host(mod), normal(*shape))
    assert found.shape == shape[:3]


def test_sums_of_which_llvm_makes_invalid_code():
    """Those of a convolution in a function with what follows them, of two images of one line."""
    random = np.random.default_rng(0)
    kernel = random.integers(-99, 99, (1, 3, 2, 1)).astype("int8")

    def body(emit, x):
        y = conv2d(emit, x, kernel, padding=[0, 2, 0, 0])
        return requantize(emit, y, 0.01)

    x = random.integers(-128, 128, (2, 1, 6, 2)).astype("int8")
    mod = function_of([x.shape], body, "int8")
    stock = run_host(relax.build(mod, "llvm"), x)
    np.testing.assert_array_equal(run_host(build_host(mod), x)[0], stock[0])
