"""What the device can compute in the place of a named operation, as bindings of integer Relax.

A form replaces the bindings of a layer by others, which mean to the last bit what the device does:
the partitioner makes a region of them, and where it does not, the host computes the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tvm import relax

from ..device.requantize import INT8_MAX, INT8_MIN, RequantizeRule
from ..quantize.integer_ops import image_sum, residual_add
from ..relax_graph import shape_of, substitute
from .products import Product

Values = Mapping[relax.Var, relax.Expr]


@dataclass(frozen=True)
class Rescale:
    """How sums become elements: by the device's rule with a scale, or one for each channel, then
    within bounds."""

    scale: float | tuple[float, ...]
    low: int = INT8_MIN
    high: int = INT8_MAX

    def emit(
        self, builder: relax.BlockBuilder, rule: RequantizeRule, sums: relax.Expr, name: str
    ) -> relax.Var:
        """The int8 tensor of int32 sums. A bound of 0 is the device's ReLU, others the host's."""
        scale = np.array(self.scale) if isinstance(self.scale, tuple) else self.scale
        value = rule.emit(builder, sums, scale, name)
        if self.low > INT8_MIN:
            low = relax.const(np.int8(self.low))
            value = builder.emit(relax.op.maximum(value, low), f"{name}_low")
        if self.high < INT8_MAX:
            high = relax.const(np.int8(self.high))
            value = builder.emit(relax.op.minimum(value, high), f"{name}_high")
        return value


@dataclass(frozen=True)
class Form(ABC):
    """Base of all.

    name : the layer's.
    replaced : bindings that nobody else uses and that the form is instead of.
    """

    name: str
    replaced: tuple[relax.Var, ...]
    rescale: Rescale

    @abstractmethod
    def emit(self, builder: relax.BlockBuilder, rule: RequantizeRule, values: Values) -> relax.Var:
        """The layer's result, of what ``values`` hold for the variables of the network."""


@dataclass(frozen=True)
class ProductForm(Form):
    """A product with other weights and another bias (int64, one a channel; None: as they are)."""

    product: Product
    weight: np.ndarray | None
    bias: np.ndarray

    def emit(self, builder: relax.BlockBuilder, rule: RequantizeRule, values: Values) -> relax.Var:
        data, weight = self.product.call.args
        right = substitute(weight, values) if self.weight is None else relax.const(self.weight)
        call = self.product.call
        sums = builder.emit(
            relax.Call(call.op, [substitute(data, values), right], call.attrs),
            self.product.anchor.name,
        )
        if self.bias.any():
            # Sums wrap around in int32, and so may what is added to them.
            bias = relax.const(self.bias.astype(np.int32))
            sums = builder.emit(relax.op.add(sums, bias), f"{self.name}_biased")
        return self.rescale.emit(builder, rule, sums, self.name)


@dataclass(frozen=True)
class AddForm(Form):
    """``A * x + B * y + constant`` of two tensors of one shape."""

    operands: tuple[relax.Var, relax.Var]
    multipliers: tuple[int, int]
    constant: int

    def emit(self, builder: relax.BlockBuilder, rule: RequantizeRule, values: Values) -> relax.Var:
        left, right = (values[operand] for operand in self.operands)
        terms = list(zip((left, right), self.multipliers, strict=True))
        sums = residual_add(builder, terms, self.constant, self.name)
        return self.rescale.emit(builder, rule, sums, self.name)


@dataclass(frozen=True)
class ImageSumForm(Form):
    """The sum over an image's lines and pixels, times a factor of int8."""

    image: relax.Var
    factor: int
    shape: tuple[int, ...]

    def emit(self, builder: relax.BlockBuilder, rule: RequantizeRule, values: Values) -> relax.Var:
        sums = image_sum(builder, values[self.image], (1, 2), self.factor, self.name)
        result = self.rescale.emit(builder, rule, sums, self.name)
        return _shaped(builder, result, self.shape, self.name)


@dataclass(frozen=True)
class WindowSumForm(Form):
    """The sums over an image's windows: a depthwise convolution with ones, and a bias."""

    image: relax.Var
    window: tuple[int, int]
    strides: tuple[int, int]
    constant: int
    shape: tuple[int, ...]

    def emit(self, builder: relax.BlockBuilder, rule: RequantizeRule, values: Values) -> relax.Var:
        image = values[self.image]
        channels = shape_of(image)[-1]
        ones = relax.const(np.ones((*self.window, 1, channels), np.int8))
        sums = builder.emit(
            relax.op.nn.conv2d(
                image,
                ones,
                strides=list(self.strides),
                groups=channels,
                data_layout="NHWC",
                kernel_layout="HWIO",
                out_dtype="int32",
            ),
            self.name,
        )
        if self.constant:
            bias = relax.const(np.full(channels, self.constant, np.int32))
            sums = builder.emit(relax.op.add(sums, bias), f"{self.name}_biased")
        result = self.rescale.emit(builder, rule, sums, self.name)
        return _shaped(builder, result, self.shape, self.name)


def _shaped(
    builder: relax.BlockBuilder, value: relax.Var, shape: tuple[int, ...], name: str
) -> relax.Var:
    if shape_of(value) == shape:
        return value
    return builder.emit(relax.op.reshape(value, shape), f"{name}_reshaped")
