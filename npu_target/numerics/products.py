"""Sums of products, or of pixels: what makes them, and between which numbers they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..relax_graph import Graph, attr_ints, constant_of, dtype_of, op_name, shape_of
from .ranges import Range, range_of

_PRODUCTS = ("relax.nn.conv2d", "relax.matmul")
_SUM = "relax.sum"


@dataclass(frozen=True)
class Product:
    """A convolution or a matrix product of int8 into int32 sums, channels last, or the sum over an
    image's lines and pixels; and its bias.

    anchor : the product's binding.
    biased : the binding behind it that adds a constant for each channel, None without one.
    weight : constant int8, with ``weight_axis`` along the channels; None of two activations.
    bias : int64, one a channel; zeros without one.
    """

    anchor: relax.Var
    biased: relax.Var | None
    call: relax.Call
    weight: np.ndarray | None
    weight_axis: int
    bias: np.ndarray

    @property
    def sums(self) -> relax.Var:
        """The binding of the whole sums."""
        return self.anchor if self.biased is None else self.biased

    @property
    def is_image_sum(self) -> bool:
        """Whether it is no product: a sum of what `data` holds."""
        return op_name(self.call) == _SUM

    @property
    def data(self) -> relax.Expr:
        """Its int8 input, of two the first."""
        return self.call.args[0]

    @property
    def bindings(self) -> tuple[relax.Var, ...]:
        """What a device form replaces."""
        return (self.anchor,) if self.biased is None else (self.anchor, self.biased)


def product_of(graph: Graph, sums: relax.Expr) -> Product | str:
    """The product that makes int32 sums, or why nothing that a device computes makes them."""
    if not isinstance(sums, relax.Var) or sums not in graph.value:
        return "no product makes its sums"
    anchor, biased, bias_values = sums, None, None
    if op_name(graph.value[sums]) == "relax.add":
        operands = graph.value[sums].args
        constants = [constant_of(operand) for operand in operands]
        sides = [i for i, values in enumerate(constants) if values is not None]
        if len(sides) != 1 or not isinstance(operands[1 - sides[0]], relax.Var):
            return "an addition of two tensors makes its sums, no product"
        anchor, biased, bias_values = operands[1 - sides[0]], sums, constants[sides[0]]
    call = graph.producer(anchor)
    if op_name(call) == _SUM:
        call = _of_int8(graph, call)
    elif op_name(call) not in _PRODUCTS:
        made_by = (op_name(call) or "an input").removeprefix("relax.")
        return f"{made_by} makes its sums, no product"
    if call is None:
        return "sum makes its sums, not of the lines and pixels of an int8 image"
    if dtype_of(anchor) != "int32" or any(dtype_of(arg) != "int8" for arg in call.args):
        return "its product is not of int8 into int32"
    for inner in () if biased is None else (anchor,):
        if graph.sole_user(inner) is None:
            return "its product is used elsewhere, without the bias"
    channels = shape_of(anchor)[-1] if shape_of(anchor) else 1
    bias = _per_channel(bias_values, shape_of(anchor), channels)
    if bias is None:
        return "what is added to its product is not one number a channel"
    weight = constant_of(call.args[1]) if len(call.args) > 1 else None
    axis = -1
    if op_name(call) == "relax.nn.conv2d":
        if str(call.attrs.out_layout) != "NHWC":
            return f"its convolution is of layout {call.attrs.out_layout}"
        axis = str(call.attrs.kernel_layout).find("O")
        if weight is None:
            return "its convolution's weights are not constant"
        if weight.shape[axis] != channels:
            return "its convolution's weights are of a layout without all channels on one axis"
    return Product(anchor, biased, call, weight, axis, bias)


def _of_int8(graph: Graph, call: relax.Call) -> relax.Call | None:
    """A sum over an image's lines and pixels as one of its int8; None of another."""
    wide = graph.producer(call.args[0])
    if op_name(wide) != "relax.astype" or len(shape_of(call.args[0])) != 4:
        return None
    axes = call.attrs.axis
    if axes is None or sorted(axis % 4 for axis in attr_ints(axes)) != [1, 2]:
        return None
    return relax.Call(call.op, [wide.args[0]], call.attrs)


def _per_channel(
    values: np.ndarray | None, shape: tuple[int, ...], channels: int
) -> np.ndarray | None:
    if values is None:
        return np.zeros(channels, np.int64)
    if values.ndim > len(shape) or values.size not in (1, channels):
        return None
    if values.size > 1 and values.shape[-1] != channels:
        return None
    return np.broadcast_to(values.reshape(-1), (channels,)).astype(np.int64)


def sum_range(mod: IRModule, graph: Graph, product: Product) -> Range:
    """Between which numbers all sums of a product lie, its bias included, whatever the network is
    given."""
    value = range_of(mod, graph, product.data)
    if product.is_image_sum:
        _, height, width, _ = shape_of(product.data)
        count = height * width
        return Range(count * value.low, count * value.high).plus(product.bias)
    if product.weight is None:
        other = range_of(mod, graph, product.call.args[1])
        ends = [a * b for a in (value.low, value.high) for b in (other.low, other.high)]
        terms = shape_of(product.call.args[0])[-1]
        return Range(terms * min(ends), terms * max(ends)).plus(product.bias)
    if op_name(product.call) == "relax.nn.conv2d" and any(attr_ints(product.call.attrs.padding)):
        value = value.with_value(0)
    per_channel = np.moveaxis(product.weight.astype(np.int64), product.weight_axis, -1)
    axes = tuple(range(per_channel.ndim - 1))
    if op_name(product.call) == "relax.matmul":
        axes = (per_channel.ndim - 2,)  # batches are products of their own
    positive, negative = (
        part.sum(axes) for part in (per_channel.clip(0), per_channel.clip(None, 0))
    )
    low = positive * value.low + negative * value.high
    high = positive * value.high + negative * value.low
    return Range(int((low + product.bias).min()), int((high + product.bias).max()))
