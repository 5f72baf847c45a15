"""A dilated convolution as one of several smaller images, without dilation.

An output takes pixels a dilation apart. So all pixels whose places leave the same rest make an
image of their own, which an undilated kernel slides over; these images lie one behind the other in
the batch.
"""

from __future__ import annotations

import numpy as np
from tvm import relax

from ..relax_graph import Graph, attr_ints, constant_of, dtype_of, op_name, shape_of, substitute
from .chain import Chain
from .moves import cropped, padded, permuted, reshaped
from .respelled import convolution
from .rewriting import Replacement, Values
from .transposed_convolution import with_zeros_between


def rewrite_dilation(graph: Graph, var: relax.Var) -> Replacement | None:
    """An int8 conv2d of NHWC images with a dilation, with what follows it."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.conv2d" or dtype_of(call.args[0]) != "int8":
        return None
    attrs = call.attrs
    if (str(attrs.data_layout), str(attrs.out_layout)) != ("NHWC", "NHWC"):
        return None
    layout, shape = str(attrs.kernel_layout), shape_of(call.args[1])
    if sorted(layout) != sorted("HWIO"):
        return None
    kernel = [shape[layout.find(axis)] for axis in "HW"]
    # Of a single position there are no two that could be apart.
    dilation = [
        by if size > 1 else 1 for by, size in zip(attr_ints(attrs.dilation), kernel, strict=True)
    ]
    if attr_ints(attrs.dilation) == (1, 1):
        return None
    if attr_ints(attrs.strides) != (1, 1) or dilation == [1, 1]:
        return _with_wide_kernel(graph, var, dilation)
    return _with_small_images(graph, var, dilation, kernel)


def _with_wide_kernel(graph: Graph, var: relax.Var, dilation: list[int]) -> Replacement | None:
    """Zeros between the kernel's positions: with strides, neighbouring outputs do not take
    neighbouring pixels of a smaller image."""
    call = graph.value[var]
    weight, layout = constant_of(call.args[1]), str(call.attrs.kernel_layout)
    if weight is None:
        return None
    kernel = with_zeros_between(
        weight.transpose([layout.find(axis) for axis in "HWIO"]), (dilation[0], dilation[1])
    )

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        changed = {"dilation": [1, 1], "kernel_layout": "HWIO"}
        image = substitute(call.args[0], values)
        return builder.emit(
            convolution(call, image, relax.const(np.ascontiguousarray(kernel)), **changed),
            var.name,
        )

    return Replacement(var, frozenset({var}), emit)


def _with_small_images(
    graph: Graph, var: relax.Var, dilation: list[int], kernel: list[int]
) -> Replacement:
    call = graph.value[var]
    top, left, bottom, right = attr_ints(call.attrs.padding)
    n, h, w, channels = shape_of(call.args[0])
    lines = -(-(h + top + bottom) // dilation[0])
    pixels = -(-(w + left + right) // dilation[1])
    (dh, dw), co = dilation, shape_of(var)[3]
    widths = [(0, 0), (top, lines * dh - h - top), (left, pixels * dw - w - left), (0, 0)]
    chain = Chain.after(graph, var, channel_axis=3)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        image, weight = (substitute(argument, values) for argument in call.args)
        image = padded(builder, image, widths, var.name)
        image = reshaped(builder, image, (n, lines, dh, pixels, dw, channels), var.name)
        image = permuted(builder, image, (0, 2, 4, 1, 3, 5), var.name)
        image = reshaped(builder, image, (n * dh * dw, lines, pixels, channels), var.name)
        changed = {"dilation": [1, 1], "padding": [0, 0, 0, 0]}
        result: relax.Expr = builder.emit(convolution(call, image, weight, **changed), var.name)
        result = chain.emit(builder, result)
        out_h, out_w = lines - kernel[0] + 1, pixels - kernel[1] + 1
        result = reshaped(builder, result, (n, dh, dw, out_h, out_w, co), var.name)
        result = permuted(builder, result, (0, 3, 1, 4, 2, 5), var.name)
        result = reshaped(builder, result, (n, out_h * dh, out_w * dw, co), var.name)
        return cropped(builder, result, (0, 0, 0, 0), shape_of(var), var.name)

    return Replacement(chain.root, chain.interior, emit)
