"""Batch normalization folded into the convolution before it, in any layout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..relax_graph import (
    Graph,
    constant_of,
    copy_binding,
    op_name,
    rebuild,
    replace_function,
    shape_of,
    substitute,
    vars_in,
)
from .calibrate import QuantizeError


class _Fold(NamedTuple):
    """A convolution, the batch norm after it, and what replaces both."""

    convolution: relax.Var
    call: relax.Call
    weight: np.ndarray
    bias: np.ndarray  # shaped to broadcast over the convolution's output


def fold_batch_norm(mod: IRModule, name: str = "main") -> IRModule:
    """``mod`` with constants folded and each ``conv2d [+ bias] -> batch_norm`` made one
    ``conv2d + bias``.

    With gamma, beta, mean and variance constant, ``gamma * (conv(x, w) + b - mean) / sqrt(variance
    + epsilon) + beta`` is ``conv(x, w * f) + (b - mean) * f + beta``, where ``f = gamma /
    sqrt(variance + epsilon)``, channel by channel. A batch norm that does not follow a
    convolution of its own, or computes its statistics anew (``training=True``), stays.
    """
    graph = Graph(relax.transform.FoldConstant()(mod), name)
    folds = {var: fold for var in graph.order if (fold := _match(graph, var)) is not None}
    dropped = _only_used_by(graph, folds)

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        if var in folds:
            values[var] = _emit(builder, folds[var], values)
        elif var not in dropped:
            copy_binding(builder, var, values, graph)

    return replace_function(mod, name, rebuild(graph, emit))


def _match(graph: Graph, var: relax.Var) -> _Fold | None:
    """The fold whose result is ``var``, the first field of a batch norm's output."""
    item = graph.value[var]
    if not isinstance(item, relax.TupleGetItem) or item.index != 0:
        return None
    norm = graph.producer(item.tuple_value)
    if op_name(norm) != "relax.nn.batch_norm" or norm.attrs.training:
        return None
    if graph.users[item.tuple_value] != [var] or item.tuple_value in graph.output_vars:
        return None
    statistics = [constant_of(arg) for arg in norm.args[1:5]]
    source = norm.args[0]
    if any(array is None for array in statistics) or not isinstance(source, relax.Var):
        return None
    bias: np.ndarray | None = None
    if op_name(graph.producer(source)) == "relax.add":
        left, right = graph.producer(source).args
        if graph.sole_user(source) is None or not isinstance(left, relax.Var):
            return None
        source, bias = left, constant_of(right)
        if bias is None:
            return None
    convolution = graph.producer(source)
    if op_name(convolution) != "relax.nn.conv2d" or graph.sole_user(source) is None:
        return None
    weight = constant_of(convolution.args[1])
    axis = str(convolution.attrs.out_layout).find("C")
    if weight is None or axis != norm.attrs.axis:
        return None
    gamma, beta, mean, variance = (np.asarray(array, "float64") for array in statistics)
    factor = (gamma if norm.attrs.scale else 1.0) / np.sqrt(variance + norm.attrs.epsilon)
    channel_bias = _per_channel(bias, len(shape_of(source)), axis, gamma.size)
    if channel_bias is None:
        return None
    channel_bias = (channel_bias - mean) * factor + (beta if norm.attrs.center else 0.0)
    weight_shape = [1] * weight.ndim
    weight_shape[str(convolution.attrs.kernel_layout).find("O")] = factor.size
    bias_shape = [1] * len(shape_of(source))
    bias_shape[axis] = factor.size
    return _Fold(
        source,
        convolution,
        _float32(source, weight * factor.reshape(weight_shape)),
        _float32(source, channel_bias.reshape(bias_shape)),
    )


def _float32(layer: relax.Var, values: np.ndarray) -> np.ndarray:
    """Raises QuantizeError for values of the layer that float32 does not have."""
    largest = float(np.abs(values).max(initial=0.0))
    if not largest <= float(np.finfo("float32").max):
        raise QuantizeError(
            f"{layer.name}: with its batch norm its weights or bias are up to {largest:.3g}, "
            "which is more than float32 has; check the weights"
        )
    return values.astype("float32")


def _per_channel(bias: np.ndarray | None, ndim: int, axis: int, channels: int) -> np.ndarray | None:
    """``bias`` as one value a channel; None if it varies along another axis."""
    if bias is None:
        return np.zeros(channels)
    if bias.ndim > ndim:
        return None
    full = bias.reshape((1,) * (ndim - bias.ndim) + bias.shape)
    if full.size != full.shape[axis]:
        return None
    return np.broadcast_to(full.reshape(-1), (channels,)).astype("float64")


def _only_used_by(graph: Graph, folds: dict[relax.Var, _Fold]) -> set[relax.Var]:
    """Bindings between a folded convolution (inclusive) and the end of its batch norm."""
    dropped: set[relax.Var] = set()
    for var, fold in folds.items():
        pending = list(vars_in(graph.value[var]))
        while pending:
            inner = pending.pop()
            dropped.add(inner)
            if inner != fold.convolution:
                pending += vars_in(graph.value[inner])
    return dropped


def _emit(
    builder: relax.BlockBuilder, fold: _Fold, values: dict[relax.Var, relax.Expr]
) -> relax.Var:
    args = [substitute(fold.call.args[0], values), relax.const(fold.weight)]
    convolution = relax.Call(fold.call.op, args, fold.call.attrs)
    var = builder.emit(convolution, fold.convolution.name)
    return builder.emit(relax.op.add(var, relax.const(fold.bias)), f"{fold.convolution.name}_bias")
