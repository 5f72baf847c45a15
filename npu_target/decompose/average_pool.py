"""An average pool as a depthwise convolution, each position weighing the same."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..relax_graph import Graph, attr_ints, dtype_of, op_name, shape_of, substitute
from .rewriting import Replacement, Values


def rewrite_average_pool(graph: Graph, var: relax.Var) -> Replacement | None:
    """avg_pool2d of NHWC images that divides by the same number everywhere, and not of a whole
    image, which has an operator of its own."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.avg_pool2d":
        return None
    attrs = call.attrs
    padding, (kh, kw) = attr_ints(attrs.padding), attr_ints(attrs.pool_size)
    if (str(attrs.layout), str(attrs.out_layout)) != ("NHWC", "NHWC"):
        return None
    if any(padding) and not attrs.count_include_pad:
        return None
    _, h, w, channels = shape_of(call.args[0])
    if (h, w) == (kh, kw) and not any(padding):
        return None
    strides, dilation = attr_ints(attrs.strides), attr_ints(attrs.dilation)
    extents = (h + padding[0] + padding[2], w + padding[1] + padding[3])
    outputs = tuple(
        (extent - (size - 1) * by - 1) // stride + 1
        for extent, size, by, stride in zip(extents, (kh, kw), dilation, strides, strict=True)
    )
    if outputs != shape_of(var)[1:3]:
        return None  # windows that end outside divide by less
    weight = np.full((kh, kw, 1, channels), 1.0 / math.prod((kh, kw)), dtype_of(var))

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        convolution = relax.op.nn.conv2d(
            substitute(call.args[0], values),
            relax.const(weight),
            strides=list(strides),
            padding=list(padding),
            dilation=list(dilation),
            groups=channels,
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
        return builder.emit(convolution, var.name)

    return Replacement(var, frozenset({var}), emit)
