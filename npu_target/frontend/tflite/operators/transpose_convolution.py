"""TRANSPOSE_CONV, as a convolution of the image with its pixels moved apart."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..converters import converts
from ..file import MOST_ELEMENTS
from ..operation import Operation
from .fused import with_activation
from .sums import effective_scales, integer_bias, integer_weights, requantized, with_bias
from .window import image_shape, is_same, pad_image

_WEIGHTS, _IMAGE, _BIAS = 1, 2, 3
_MOST_STRIDE = 1 << 10


@converts("TRANSPOSE_CONV")
def transpose_conv(op: Operation) -> relax.Expr:
    shape = op.constant(_WEIGHTS).shape
    if len(shape) != 4 or 0 in shape or shape[3] != image_shape(op, _IMAGE)[3]:
        raise op.refusal(f"weights of shape {shape} do not fit the image")
    if not op.integer:
        image = _apart(op, op.expression(_IMAGE), 0)
        result = _conv2d(image, _turned(op.float_constant(_WEIGHTS)), "float32")
        if op.has(_BIAS):
            bias = relax.const(op.float_constant(_BIAS).reshape(-1))
            result = relax.op.add(op.emit(result, "product"), bias)
        return with_activation(op, result)
    image, operand = op.operand(_IMAGE)
    weights = integer_weights(op, _WEIGHTS, axis=0)
    if weights.zero_point != 0:
        raise op.refusal("its weights have a zero point; convert with symmetric weights")
    hwio = _turned(weights.values)
    bias = integer_bias(op, _BIAS, hwio.shape[3], operand, weights)
    bias = bias - operand.zero_point * hwio.sum((0, 1, 2), dtype=np.int64)
    sums = _conv2d(_apart(op, image, operand.zero_point), hwio, "int32")
    scales = effective_scales(op, operand, weights)
    return requantized(op, with_bias(op, sums, bias), scales, "tflite_double")


def _turned(weights: np.ndarray) -> np.ndarray:
    """[outputs, h, w, inputs] as [h, w, inputs, outputs], the last pixel first."""
    return np.ascontiguousarray(weights[:, ::-1, ::-1].transpose(1, 2, 3, 0))


def _apart(op: Operation, image: relax.Expr, value: int) -> relax.Expr:
    """The image with ``stride - 1`` rows and columns of a value between its own, and a border, such
    that a window at every position makes the result."""
    n, h, w, c = image_shape(op, _IMAGE)
    sizes = op.integers(0)
    strides = (op.option("stride_h"), op.option("stride_w"))
    kernel = op.constant(_WEIGHTS).shape[1:3]
    if len(sizes) != 4 or min(sizes) < 1 or not all(1 <= s <= _MOST_STRIDE for s in strides):
        raise op.refusal(f"it makes no tensor of shape {sizes} with strides {strides}")
    if n * math.prod(extent + size for extent, size in zip(sizes[1:3], kernel, strict=True)) * c > (
        MOST_ELEMENTS
    ):
        raise op.refusal(f"a result of shape {sizes} is too large")
    if strides != (1, 1):
        spread = op.emit(relax.op.reshape(image, (n, h, 1, w, 1, c)), "spread")
        widths = [0, 0, 0, 0, 0, strides[0] - 1, 0, 0, 0, strides[1] - 1, 0, 0]
        stuffed = op.emit(relax.op.nn.pad(spread, widths, pad_value=value), "stuffed")
        image = op.emit(relax.op.reshape(stuffed, (n, h * strides[0], w * strides[1], c)), "apart")
    before, after = [0, 0], [0, 0]
    ends = [h * strides[0], w * strides[1]]
    for axis, extent in enumerate((h, w)):
        stride, size, span = strides[axis], sizes[1 + axis], kernel[axis]
        cut = 0
        if is_same(op):
            cut = max((-(-size // stride) - 1) * stride + span - size, 0) // 2
        before[axis] = span - 1 - cut
        needed = size + span - 1 - before[axis]
        if before[axis] < 0 or needed < (extent - 1) * stride + 1 - cut:
            raise op.refusal(f"a result of shape {sizes} does not fit an image of {extent}")
        after[axis] = max(needed - ends[axis], 0)
        ends[axis] = min(ends[axis], needed)
    if ends != [h * strides[0], w * strides[1]]:
        image = op.emit(relax.op.strided_slice(image, [1, 2], [0, 0], ends, [1, 1]), "cut")
    return pad_image(op, image, (before[0], before[1], after[0], after[1]), value)


def _conv2d(image: relax.Expr, weights: np.ndarray, dtype: str) -> relax.Expr:
    return relax.op.nn.conv2d(
        image,
        relax.const(weights),
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype=dtype,
    )
