"""Integer Relax functions, spelled by hand: the partitioner's input in small pieces."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op

RANDOM = np.random.default_rng(0)


def int8(*shape):
    return RANDOM.integers(-128, 128, shape).astype("int8")


def constant(values):
    return relax.const(np.ascontiguousarray(values))


def requantize(emit, value, scale=0.01, low=-128, high=127, swap=False):
    value, factor = emit(op.astype(value, "float32")), relax.const(np.float32(scale))
    scaled = emit(op.multiply(factor, value) if swap else op.multiply(value, factor))
    clipped = emit(op.clip(emit(op.round(scaled)), low, high))
    return emit(op.astype(clipped, "int8"))


def relu(emit, value):
    return emit(op.maximum(value, relax.const(np.int8(0))))


def conv2d(emit, x, weight, name="conv", **options):
    settings = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": "int32"}
    value = constant(weight) if isinstance(weight, np.ndarray) else weight
    return emit(op.nn.conv2d(x, value, **{**settings, **options}), name)


def add_bias(emit, x, channels):
    return emit(op.add(x, constant(RANDOM.integers(-5000, 5000, channels).astype("int32"))))


def residual(emit, a, b, by_a=1, by_b=3, scale=0.3, swap=False):
    operands = []
    for value, by in ((a, by_a), (b, by_b)):
        value = emit(op.astype(value, "int32"))
        factor = constant(np.asarray(by, "int32"))
        if np.any(by != 1):
            value = emit(op.multiply(factor, value) if swap else op.multiply(value, factor))
        operands.append(value)
    return requantize(emit, emit(op.add(*operands), "sum"), scale)


def image_sum(emit, x, axes=(1, 2), keepdims=True):
    return emit(op.sum(emit(op.astype(x, "int32")), list(axes), keepdims=keepdims), "sum")
