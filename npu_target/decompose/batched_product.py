"""Products of batches of matrices that broadcast, as such that do not."""

from __future__ import annotations

import math

from tvm import relax

from ..relax_graph import Graph, dtype_of, op_name, shape_of, substitute
from .chain import Chain
from .moves import reshaped
from .rewriting import Replacement, Values


def rewrite_batched_product(graph: Graph, var: relax.Var) -> Replacement | None:
    """An int8 matmul of two batches of different shapes, with what follows it."""
    call = graph.value[var]
    if op_name(call) != "relax.matmul" or dtype_of(call.args[0]) != "int8":
        return None
    left, right = (shape_of(argument) for argument in call.args)
    if len(right) <= 2 or len(left) < 2 or left[:-2] == right[:-2]:
        return None
    batch = shape_of(var)[:-2]
    (m, k), n = left[-2:], right[-1]
    of_left, of_right = ((1,) * (len(batch) + 2 - len(x)) + x for x in (left, right))
    # Where several matrices on the left meet the same one on the right, they are rows of one.
    shared = len(batch)
    while shared and of_right[shared - 1] == 1:
        shared -= 1
    rows = math.prod(of_left[shared : len(batch)]) * m
    chain = Chain.after(graph, var, channel_axis=len(batch) + 1)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        first, second = (substitute(argument, values) for argument in call.args)
        first = reshaped(builder, first, (*of_left[:shared], rows, k), var.name)
        second = reshaped(builder, second, (*of_right[:shared], k, n), var.name)
        first = _repeated(builder, first, (*batch[:shared], rows, k), var.name)
        second = _repeated(builder, second, (*batch[:shared], k, n), var.name)
        product = relax.op.matmul(first, second, out_dtype=str(call.ty.dtype.dtype))
        result = chain.emit(builder, builder.emit(product, var.name))
        return reshaped(builder, result, shape_of(var), var.name)

    return Replacement(chain.root, chain.interior, emit)


def _repeated(
    builder: relax.BlockBuilder, value: relax.Expr, shape: tuple[int, ...], name: str
) -> relax.Expr:
    if shape_of(value) == shape:
        return value
    return builder.emit(relax.op.broadcast_to(value, shape), f"{name}_repeated")
