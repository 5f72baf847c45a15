"""Means over axes of any tensor as means over the pixels of an image."""

from __future__ import annotations

import math

from tvm import relax

from ..relax_graph import Graph, attr_ints, op_name, shape_of, substitute
from .moves import reshaped
from .rewriting import Replacement, Values


def rewrite_mean(graph: Graph, var: relax.Var) -> Replacement | None:
    """A mean over neighbouring axes before the last. One over the last axis is a statistic of
    what follows, as in norms, more often than a result, and stays in float."""
    call = graph.value[var]
    if op_name(call) != "relax.mean" or call.attrs.axis is None:
        return None
    shape = shape_of(call.args[0])
    axes = sorted(axis % len(shape) for axis in attr_ints(call.attrs.axis))
    if axes[-1] == len(shape) - 1 or axes != list(range(axes[0], axes[-1] + 1)):
        return None
    if len(shape) == 4 and axes == [1, 2]:
        return None
    outer, inner = math.prod(shape[: axes[0]]), math.prod(shape[axes[-1] + 1 :])
    pixels = math.prod(shape[axis] for axis in axes)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        value = substitute(call.args[0], values)
        image = reshaped(builder, value, (outer, pixels, 1, inner), var.name)
        mean = builder.emit(relax.op.mean(image, [1, 2]), var.name)
        return reshaped(builder, mean, shape_of(var), var.name)

    return Replacement(var, frozenset({var}), emit)
