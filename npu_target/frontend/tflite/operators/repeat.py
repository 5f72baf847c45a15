"""TILE, BROADCAST_TO and FILL."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..converters import converts
from ..file import MOST_ELEMENTS
from ..operation import Operation


@converts("TILE")
def tile(op: Operation) -> relax.Expr:
    shape, times = op.shape(0), op.integers(1)
    if len(times) != len(shape) or min(times, default=1) < 1:
        raise op.refusal(f"a tensor of shape {shape} cannot be repeated {times} times")
    _check_size(op, [extent * count for extent, count in zip(shape, times, strict=True)])
    if op.integer:
        op.require_same_scale()
    return relax.op.tile(op.expression(0), times)


@converts("BROADCAST_TO")
def broadcast_to(op: Operation) -> relax.Expr:
    shape, wanted = op.shape(0), op.integers(1)
    try:
        fits = np.broadcast_shapes(shape, wanted) == tuple(wanted)
    except ValueError:
        fits = False
    if not fits:
        raise op.refusal(f"a tensor of shape {shape} has no shape {wanted}")
    _check_size(op, wanted)
    if op.integer:
        op.require_same_scale()
    return relax.op.broadcast_to(op.expression(0), wanted)


@converts("FILL")
def fill(op: Operation) -> None:
    shape, value = op.integers(0), op.constant(1)
    if value.size != 1 or min(shape, default=0) < 0:
        raise op.refusal(f"it fills a shape of {shape} with {value.size} values")
    _check_size(op, shape)
    if op.integer:
        op.require_same_scale(1)
    op.make_constant(np.full(shape, value.reshape(()), value.dtype))


def _check_size(op: Operation, shape: list[int]) -> None:
    if math.prod(shape) > MOST_ELEMENTS:
        raise op.refusal(f"a tensor of shape {tuple(shape)} is too large")
