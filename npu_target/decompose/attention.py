"""Attention as two products with a softmax between them."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..relax_graph import Graph, op_name, shape_of, substitute
from .moves import permuted
from .rewriting import Replacement, Values

# A score that no softmax gives weight to, and that is still finite.
_MASKED = -1e9


def rewrite_attention(graph: Graph, var: relax.Var) -> Replacement | None:
    """``nn.attention`` of (batch, sequence, heads, size) tensors; of no sliding window."""
    call = graph.value[var]
    if op_name(call) not in ("relax.nn.attention", "relax.nn.attention_bias"):
        return None
    attrs = call.attrs
    if attrs.window_size is not None:
        return None
    queries, size = shape_of(call.args[0])[1], shape_of(call.args[0])[3]
    keys = shape_of(call.args[1])[1]
    scale = 1.0 / math.sqrt(size) if attrs.scale is None else float(attrs.scale.value)
    mask = _mask(attrs.causal_mask, queries, keys)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        query, key, value, *bias = (substitute(argument, values) for argument in call.args)
        query = permuted(builder, query, (0, 2, 1, 3), f"{var.name}_query")
        key = permuted(builder, key, (0, 2, 3, 1), f"{var.name}_key")
        value = permuted(builder, value, (0, 2, 1, 3), f"{var.name}_value")
        scores = builder.emit(relax.op.matmul(query, key), f"{var.name}_scores")
        scaled = relax.op.multiply(scores, relax.const(np.float32(scale)))
        scores = builder.emit(scaled, f"{var.name}_scaled")
        for more in [*bias, *([] if mask is None else [relax.const(mask)])]:
            scores = builder.emit(relax.op.add(scores, more), f"{var.name}_masked")
        weights = builder.emit(relax.op.nn.softmax(scores, axis=-1), f"{var.name}_softmax")
        context = builder.emit(relax.op.matmul(weights, value), f"{var.name}_context")
        return permuted(builder, context, (0, 2, 1, 3), var.name)

    return Replacement(var, frozenset({var}), emit)


def _mask(kind: str | None, queries: int, keys: int) -> np.ndarray | None:
    """What is added to scores so that no query sees keys behind it, the first ones or the last
    ones of both being at the same place."""
    if kind is None:
        return None
    offset = 0 if str(kind) == "TopLeft" else keys - queries
    unseen = np.arange(keys)[None, :] > np.arange(queries)[:, None] + offset
    return np.where(unseen, np.float32(_MASKED), np.float32(0))
