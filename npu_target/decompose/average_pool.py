"""An average pool as depthwise convolutions, each position weighing the same.

Where padding is not counted, windows at the borders divide by less than others: such outputs are
convolutions of their own, of a part of the image with a smaller kernel.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from tvm import relax

from ..relax_graph import Graph, attr_ints, dtype_of, op_name, shape_of, substitute
from .moves import cropped
from .rewriting import Replacement, Values


class _Run(NamedTuple):
    """Neighbouring outputs along an axis whose windows have so many elements: where the first
    one's begins, and how many there are."""

    begin: int
    window: int
    outputs: int

    def inputs(self, stride: int) -> int:
        """How many elements of the axis they take."""
        return (self.outputs - 1) * stride + self.window


def rewrite_average_pool(graph: Graph, var: relax.Var) -> Replacement | None:
    """avg_pool2d of NHWC images, but not of a whole one, which has an operator of its own."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.avg_pool2d":
        return None
    attrs = call.attrs
    (top, left, bottom, right), kernel = attr_ints(attrs.padding), attr_ints(attrs.pool_size)
    if (str(attrs.layout), str(attrs.out_layout)) != ("NHWC", "NHWC"):
        return None
    image, outputs = shape_of(call.args[0]), shape_of(var)[1:3]
    padded = any((top, left, bottom, right))
    strides, dilation = attr_ints(attrs.strides), attr_ints(attrs.dilation)
    if dilation != (1, 1) or (image[1:3] == kernel and not padded):
        return None
    extents = (image[1] + top + bottom, image[2] + left + right)
    inside = tuple(
        (extent - size) // stride + 1
        for extent, size, stride in zip(extents, kernel, strides, strict=True)
    )
    if attrs.count_include_pad and inside != outputs:
        return None  # what windows outside of the padding divide by is told differently
    if attrs.count_include_pad or (not padded and inside == outputs):
        return _everywhere_alike(call, var, strides, kernel)
    runs = [
        _runs(image[1], kernel[0], strides[0], top, outputs[0]),
        _runs(image[2], kernel[1], strides[1], left, outputs[1]),
    ]
    if any(run.window < 1 for axis in runs for run in axis):
        return None

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        source = substitute(call.args[0], values)
        lines = []
        for line in runs[0]:
            parts = []
            for pixel in runs[1]:
                part = cropped(
                    builder,
                    source,
                    (0, line.begin, pixel.begin, 0),
                    (image[0], line.inputs(strides[0]), pixel.inputs(strides[1]), image[3]),
                    var.name,
                )
                averages = _averages(part, (line.window, pixel.window), strides)
                parts.append(builder.emit(averages, var.name))
            lines.append(_joined(builder, parts, 2, var.name))
        return _joined(builder, lines, 1, var.name)

    return Replacement(var, frozenset({var}), emit)


def _everywhere_alike(
    call: relax.Call, var: relax.Var, strides: tuple[int, ...], kernel: tuple[int, ...]
) -> Replacement:
    padding = attr_ints(call.attrs.padding)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        image = substitute(call.args[0], values)
        return builder.emit(_averages(image, kernel, strides, padding), var.name)

    return Replacement(var, frozenset({var}), emit)


def _averages(
    image: relax.Expr,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...] = (0, 0, 0, 0),
) -> relax.Call:
    channels = shape_of(image)[3]
    weight = np.full((*kernel, 1, channels), 1.0 / prod(kernel), dtype_of(image))
    return relax.op.nn.conv2d(
        image,
        relax.const(weight),
        strides=list(strides),
        padding=list(padding),
        groups=channels,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )


def _runs(extent: int, size: int, stride: int, before: int, outputs: int) -> list[_Run]:
    """The outputs along an axis, by how much of their windows is inside."""
    runs: list[_Run] = []
    for output in range(outputs):
        first = output * stride - before
        begin, end = max(0, first), min(extent, first + size)
        last = runs[-1] if runs else None
        if last is not None and (begin, end - begin) == (
            last.begin + last.outputs * stride,
            last.window,
        ):
            runs[-1] = last._replace(outputs=last.outputs + 1)
        else:
            runs.append(_Run(begin, end - begin, 1))
    return runs


def _joined(
    builder: relax.BlockBuilder, parts: list[relax.Expr], axis: int, name: str
) -> relax.Expr:
    if len(parts) == 1:
        return parts[0]
    return builder.emit(relax.op.concat(parts, axis=axis), f"{name}_joined")
