"""A padded max pool of numbers that may be negative as one of an image that is padded before."""

from __future__ import annotations

from tvm import relax

from ..relax_graph import Graph, attr_ints, dtype_of, op_name, substitute
from ..topi.max_pool2d import is_non_negative
from .moves import padded
from .rewriting import Replacement, Values

# Never larger than another number.
_LEAST_INT8 = -128


def rewrite_max_pool(graph: Graph, var: relax.Var) -> Replacement | None:
    """An int8 max_pool2d of NHWC images with padding, unless no input is negative: then 0, with
    which devices pad, is as small as any."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.max_pool2d" or dtype_of(call.args[0]) != "int8":
        return None
    attrs, data = call.attrs, call.args[0]
    top, left, bottom, right = attr_ints(attrs.padding)
    if (str(attrs.layout), str(attrs.out_layout)) != ("NHWC", "NHWC") or attrs.ceil_mode:
        return None
    if not any((top, left, bottom, right)) or is_non_negative(graph, data):
        return None

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        widths = [(0, 0), (top, bottom), (left, right), (0, 0)]
        image = padded(builder, substitute(data, values), widths, var.name, _LEAST_INT8)
        pool = relax.op.nn.max_pool2d(
            image,
            list(attrs.pool_size),
            list(attrs.strides),
            dilation=list(attrs.dilation),
            layout="NHWC",
        )
        return builder.emit(pool, var.name)

    return Replacement(var, frozenset({var}), emit)
