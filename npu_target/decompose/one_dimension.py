"""Convolutions and average pools over lines as such over images of one line."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ..relax_graph import Graph, attr_ints, constant_of, op_name, shape_of, substitute
from .chain import Chain
from .moves import permuted, reshaped
from .rewriting import Replacement, Values

_AS_IMAGE = {
    "relax.nn.conv1d": relax.op.nn.conv2d,
    "relax.nn.conv1d_transpose": relax.op.nn.conv2d_transpose,
}


def rewrite_one_dimension(graph: Graph, var: relax.Var) -> Replacement | None:
    """conv1d and conv1d_transpose of constant weights, in any layout, with what follows them;
    avg_pool1d."""
    call = graph.value[var]
    if op_name(call) == "relax.nn.avg_pool1d":
        return _average_pool(call, var)
    if op_name(call) not in _AS_IMAGE:
        return None
    attrs, weight = call.attrs, constant_of(call.args[1])
    layout = str(attrs.data_layout)
    if weight is None or str(attrs.out_layout) != layout or sorted(layout) != sorted("NWC"):
        return None
    kernel = np.expand_dims(weight, str(attrs.kernel_layout).find("W"))
    chain = Chain.after(graph, var, layout.find("C"))

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        lines = substitute(call.args[0], values)
        lines = permuted(builder, lines, [layout.find(axis) for axis in "NWC"], var.name)
        n, w, c = shape_of(lines)
        image = reshaped(builder, lines, (n, 1, w, c), var.name)
        weights = relax.const(np.ascontiguousarray(kernel))
        result = builder.emit(convolution_of_image(call, image, weights, "NHWC"), var.name)
        result = chain.emit(builder, result)
        n, _, w, c = shape_of(result)
        lines = reshaped(builder, result, (n, w, c), var.name)
        return permuted(builder, lines, ["NWC".find(axis) for axis in layout], var.name)

    return Replacement(chain.root, chain.interior, emit)


def convolution_of_image(
    call: relax.Call, image: relax.Expr, kernel: relax.Expr, layout: str
) -> relax.Call:
    """What ``call``, a conv1d or conv1d_transpose, is over images of one line: ``image`` in
    ``layout``, and ``kernel`` with a height of 1 before its width."""
    attrs = call.attrs
    left, right = attr_ints(attrs.padding)
    more = {}
    if "transpose" in call.op.name:
        more["output_padding"] = [0, *attr_ints(attrs.output_padding)]
    return _AS_IMAGE[call.op.name](
        image,
        kernel,
        strides=[1, *attr_ints(attrs.strides)],
        padding=[0, left, 0, right],
        dilation=[1, *attr_ints(attrs.dilation)],
        groups=attrs.groups,
        data_layout=layout,
        kernel_layout=str(attrs.kernel_layout).replace("W", "HW"),
        out_layout=layout,
        out_dtype=attrs.out_dtype,
        **more,
    )


def _average_pool(call: relax.Call, var: relax.Var) -> Replacement | None:
    attrs, layout = call.attrs, str(call.attrs.layout)
    if str(attrs.out_layout) != layout or sorted(layout) != sorted("NWC"):
        return None
    left, right = attr_ints(attrs.padding)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        lines = substitute(call.args[0], values)
        lines = permuted(builder, lines, [layout.find(axis) for axis in "NWC"], var.name)
        n, w, c = shape_of(lines)
        image = reshaped(builder, lines, (n, 1, w, c), var.name)
        pool = relax.op.nn.avg_pool2d(
            image,
            [1, int(attrs.pool_size[0])],
            strides=[1, int(attrs.strides[0])],
            padding=[0, left, 0, right],
            dilation=[1, int(attrs.dilation[0])],
            ceil_mode=attrs.ceil_mode,
            layout="NHWC",
            count_include_pad=attrs.count_include_pad,
        )
        result = builder.emit(pool, var.name)
        n, _, w, c = shape_of(result)
        lines = reshaped(builder, result, (n, w, c), var.name)
        return permuted(builder, lines, ["NWC".find(axis) for axis in layout], var.name)

    return Replacement(var, frozenset({var}), emit)
