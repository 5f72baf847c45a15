"""PAD, PADV2 and MIRROR_PAD."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from tvm import relax

from ..converters import converts
from ..file import MOST_ELEMENTS
from ..operation import Operation, as_int8
from .slices import taken

_MIRRORS: tuple[Literal["reflect", "symmetric"], ...] = ("reflect", "symmetric")


@converts("PAD", "PADV2")
def pad(op: Operation) -> relax.Expr:
    widths = _widths(op)
    value = 0.0
    if op.integer:
        op.require_same_scale()
        value = op.result.zero_point
    if op.kind == "PADV2" and op.has(2):
        value = _value(op)
    flat = [width for pair in widths for width in pair]
    return relax.op.nn.pad(op.expression(0), flat, pad_value=value)


@converts("MIRROR_PAD")
def mirror_pad(op: Operation) -> relax.Expr:
    if op.integer:
        op.require_same_scale()
    mode = op.option("mode", 0)
    if mode not in (0, 1):
        raise op.refusal(f"its mode {mode} is neither REFLECT nor SYMMETRIC")
    value = op.expression(0)
    most = -1 if mode == 0 else 0
    for axis, (extent, pair) in enumerate(zip(op.shape(0), _widths(op), strict=True)):
        if max(pair) > extent + most:
            raise op.refusal(f"padding {pair} mirrors more than the {extent} elements of an axis")
        if pair != (0, 0):
            positions = np.pad(np.arange(extent, dtype=np.int32), pair, mode=_MIRRORS[mode])
            value = op.emit(taken(value, positions, axis), f"axis{axis}")
    return value


def _widths(op: Operation) -> list[tuple[int, int]]:
    """Before and after, for each axis."""
    shape, flat = op.shape(0), op.integers(1)
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    if len(flat) != 2 * len(shape) or min(flat, default=0) < 0:
        raise op.refusal(f"padding {flat} does not fit a tensor of shape {shape}")
    padded = [n + before + after for n, (before, after) in zip(shape, pairs, strict=True)]
    if math.prod(padded) > MOST_ELEMENTS:
        raise op.refusal(f"a padded tensor of shape {tuple(padded)} is too large")
    return pairs


def _value(op: Operation) -> float:
    values = op.constant(2)
    if values.size != 1:
        raise op.refusal("it pads with more than one value")
    if op.integer:
        op.require_same_scale(2)
        values = as_int8(values)
    return float(values.reshape(()))
