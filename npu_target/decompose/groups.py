"""A grouped convolution as several ungrouped ones of neighbouring channels.

As many groups as fill a block of a device's channels are computed together, by weights that are 0
between them: a block takes the same steps for one of them as for all.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from tvm import relax

from ..relax_graph import Graph, constant_of, dtype_of, op_name, shape_of, substitute
from .chain import Chain
from .moves import cropped
from .respelled import convolution
from .rewriting import Replacement, Values


def rewrite_groups(graph: Graph, var: relax.Var, side: int) -> Replacement | None:
    """An int8 conv2d of NHWC images with several groups of several channels, with what follows it.
    ``side`` is the number of channels in a block."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.conv2d" or dtype_of(call.args[0]) != "int8":
        return None
    attrs, weight = call.attrs, constant_of(call.args[1])
    groups, shape, co = int(attrs.groups), shape_of(call.args[0]), shape_of(var)[3]
    layout = str(attrs.kernel_layout)
    if (str(attrs.data_layout), str(attrs.out_layout)) != ("NHWC", "NHWC") or groups == 1:
        return None
    if weight is None or sorted(layout) != sorted("HWIO") or groups == shape[3] == co:
        return None
    kernel = weight.transpose([layout.find(axis) for axis in "HWIO"])
    inputs, outputs = shape[3] // groups, co // groups
    together = max(1, side // max(inputs, outputs))
    chain = Chain.after(graph, var, channel_axis=3)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        image = substitute(call.args[0], values)
        parts = []
        for first in range(0, groups, together):
            last = min(first + together, groups)
            part = cropped(
                builder,
                image,
                (0, 0, 0, first * inputs),
                (*shape[:3], (last - first) * inputs),
                var.name,
            )
            block = relax.const(_block(kernel, first, last, outputs))
            changed = {"groups": 1, "kernel_layout": "HWIO"}
            sums = builder.emit(convolution(call, part, block, **changed), var.name)
            channels = slice(first * outputs, last * outputs)
            parts.append(chain.emit(builder, sums, itemgetter(channels)))
        if len(parts) == 1:
            return parts[0]
        return builder.emit(relax.op.concat(parts, axis=3), f"{var.name}_joined")

    return Replacement(chain.root, chain.interior, emit)


def _block(kernel: np.ndarray, first: int, last: int, outputs: int) -> np.ndarray:
    """Weights of some groups as those of one, 0 between them."""
    kh, kw, inputs, _ = kernel.shape
    count = last - first
    block = np.zeros((kh, kw, count, inputs, count, outputs), kernel.dtype)
    for index in range(count):
        begin = (first + index) * outputs
        block[:, :, index, :, index, :] = kernel[..., begin : begin + outputs]
    return block.reshape(kh, kw, count * inputs, count * outputs)
