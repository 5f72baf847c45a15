"""MEAN and other reductions over axes."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ....integer import Mean
from ..converters import converts
from ..operation import Operation

_FLOAT = {
    "MEAN": relax.op.mean,
    "SUM": relax.op.sum,
    "REDUCE_MAX": relax.op.max,
    "REDUCE_MIN": relax.op.min,
    "REDUCE_PROD": relax.op.prod,
}


@converts("MEAN")
def mean(op: Operation) -> relax.Expr | None:
    axes = _axes(op)
    if not op.integer:
        return _plain(op, axes)
    value, operand = op.operand(0)
    result, shape = op.result, op.shape(0)
    numbers = Mean(axes, operand.scale / result.scale, operand.zero_point, result.zero_point)
    if op.option("keep_dims", False):
        return op.emit_integer(numbers, [value])
    kept = tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
    return relax.op.reshape(op.emit_integer(numbers, [value], "kept"), kept)


@converts("REDUCE_MAX", "REDUCE_MIN")
def reduce_extreme(op: Operation) -> relax.Expr | None:
    if op.integer:
        op.require_same_scale()
    return _plain(op, _axes(op))


@converts("SUM", "REDUCE_PROD")
def reduce_floats(op: Operation) -> relax.Expr | None:
    if op.integer:
        raise op.refusal("it is imported of floats only")
    return _plain(op, _axes(op))


def _axes(op: Operation) -> tuple[int, ...]:
    rank = len(op.shape(0))
    axes = {axis + rank if axis < 0 else axis for axis in op.integers(1)}
    if not axes or not axes <= set(range(rank)):
        raise op.refusal(f"its axes {op.integers(1)} are none of an operand of {rank} axes")
    return tuple(sorted(axes))


def _plain(op: Operation, axes: tuple[int, ...]) -> relax.Expr | None:
    keep = bool(op.option("keep_dims", False))
    if op.is_constant(0) and op.kind == "REDUCE_PROD":
        values = op.constant(0)
        op.make_constant(np.prod(values, axes, keepdims=keep).astype(values.dtype))
        return None
    if op.kind not in ("REDUCE_MAX", "REDUCE_MIN"):
        op.require_float()
    if math.prod(op.shape(0)) == 0:
        raise op.refusal("its operand is empty")
    return _FLOAT[op.kind](op.expression(0), list(axes), keep)
