"""CONV_2D (groups included) and DEPTHWISE_CONV_2D."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax

from ..converters import converts
from ..operation import Operation
from .fused import with_activation
from .sums import (
    effective_scales,
    integer_bias,
    integer_weights,
    requantized,
    tensor_scale,
    with_bias,
)
from .window import Window, image_shape, pad_image, window_of


@dataclass(frozen=True)
class Kernel:
    """Where a convolution's weights lie: how the file's become [h, w, inputs a group, outputs].

    axis : of the output channels in the file.
    """

    size: tuple[int, int]
    groups: int
    axis: int

    def hwio(self, weights: np.ndarray) -> np.ndarray:
        if self.axis == 0:
            return np.ascontiguousarray(weights.transpose(1, 2, 3, 0))
        _, h, w, channels = weights.shape
        return weights.reshape(h, w, 1, channels)


@converts("CONV_2D")
def conv_2d(op: Operation) -> relax.Expr:
    channels = image_shape(op, 0)[3]
    outputs, h, w, inputs = _weight_shape(op)
    if channels % inputs or outputs % (channels // inputs):
        raise op.refusal(
            f"weights of shape {(outputs, h, w, inputs)} do not fit an image of {channels} channels"
        )
    return _convolve(op, Kernel((h, w), channels // inputs, axis=0))


@converts("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(op: Operation) -> relax.Expr:
    channels = image_shape(op, 0)[3]
    one, h, w, outputs = _weight_shape(op)
    if one != 1 or outputs % channels:
        raise op.refusal(
            f"weights of shape {(one, h, w, outputs)} do not fit an image of {channels} channels"
        )
    return _convolve(op, Kernel((h, w), channels, axis=3))


def _weight_shape(op: Operation) -> tuple[int, int, int, int]:
    shape = op.constant(1).shape
    if len(shape) != 4 or 0 in shape:
        raise op.refusal(f"its weights are of shape {shape}; four axes are needed")
    a, b, c, d = shape
    return a, b, c, d


def _convolve(op: Operation, kernel: Kernel) -> relax.Expr:
    window = window_of(op, kernel.size)
    if op.integer:
        return _integer_convolution(op, kernel, window)
    weights = kernel.hwio(op.float_constant(1))
    result = _conv2d(op.expression(0), weights, window, window.padding, kernel.groups, "float32")
    if op.has(2):
        result = relax.op.add(op.emit(result, "product"), relax.const(op.float_constant(2)))
    return with_activation(op, result)


def _integer_convolution(op: Operation, kernel: Kernel, window: Window) -> relax.Expr:
    image, operand = op.operand(0)
    weights = integer_weights(op, 1, kernel.axis)
    hwio = kernel.hwio(weights.values)
    bias = integer_bias(op, 2, hwio.shape[3], operand, weights)
    padding = window.padding
    if operand.zero_point != 0:
        # The border stands for zero, as the zero point does; the convolution would put 0 there.
        image, padding = pad_image(op, image, padding, operand.zero_point), (0, 0, 0, 0)
        bias = bias - operand.zero_point * hwio.sum((0, 1, 2), dtype=np.int64)
    sums = _conv2d(image, hwio, window, padding, kernel.groups, "int32")
    if weights.zero_point != 0:
        # sum (x - zx)(w - zw): what the weights' zero point adds is the sum of the window.
        ones = np.ones_like(hwio if kernel.groups > 1 else hwio[..., :1])
        window_sums = op.emit(
            _conv2d(image, ones, window, padding, kernel.groups, "int32"), "window_sums"
        )
        factor = relax.const(np.int32(weights.zero_point))
        excess = op.emit(relax.op.multiply(window_sums, factor), "excess")
        sums = relax.op.subtract(op.emit(sums, "products"), excess)
        bias = bias + hwio[..., 0].size * operand.zero_point * weights.zero_point
    # Of uint8 the reference kernels have one scale, whose product is of float32.
    scales = tensor_scale if op.tensor(0).dtype == "uint8" else effective_scales
    return requantized(op, with_bias(op, sums, bias), scales(op, operand, weights), "tflite_double")


def _conv2d(
    image: relax.Expr,
    weights: np.ndarray,
    window: Window,
    padding: tuple[int, int, int, int],
    groups: int,
    dtype: str,
) -> relax.Expr:
    return relax.op.nn.conv2d(
        image,
        relax.const(weights),
        strides=window.strides,
        padding=padding,
        dilation=window.dilation,
        groups=groups,
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype=dtype,
    )
