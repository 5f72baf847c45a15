"""CONCATENATION and PACK."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Table
from ....integer.table import int8_values
from ..converters import converts
from ..operation import Affine, Operation
from .fused import fused_bounds, integer_bounds, with_activation
from .pool import within
from .reshape import axis_of


@converts("CONCATENATION")
def concatenation(op: Operation) -> relax.Expr | None:
    axis = axis_of(op, op.option("axis"), len(op.shape(0)))
    count = range(len(op.inputs))
    if all(op.is_constant(position) for position in count) and not op.integer:
        op.make_constant(np.concatenate([op.constant(position) for position in count], axis))
        return None
    if not op.integer:
        return with_activation(op, relax.op.concat([op.expression(i) for i in count], axis))
    parts = [_rescaled(op, position) for position in count]
    return within(op, relax.op.concat(parts, axis), integer_bounds(op, fused_bounds(op)))


def _rescaled(op: Operation, position: int) -> relax.Expr:
    """An operand as the result's scale has it: in float32, rounded half away from zero."""
    value, operand = op.operand(position)
    result = op.result
    if operand == result:
        return value
    offset = 128 if op.tensor(position).dtype == "uint8" else 0
    stored = Affine(operand.scale, operand.zero_point + offset)
    steps = (int8_values().astype(np.int32) + offset).astype(np.float32)
    scale = np.float32(stored.scale) * (np.float32(1) / np.float32(result.scale))
    bias = np.float32(-stored.zero_point) * scale
    scaled = (steps * scale + bias).astype(np.float64)
    rounded = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)
    values = np.clip(rounded, -1024, 1024).astype(np.int64) + result.zero_point
    table = Table(tuple(np.clip(values, -128, 127).tolist()))
    return op.emit_integer(table, [value], f"part{position}")


@converts("PACK")
def pack(op: Operation) -> relax.Expr | None:
    shape = op.shape(0)
    axis = axis_of(op, op.option("axis", 0), len(shape) + 1)
    count = range(len(op.inputs))
    if all(op.is_constant(position) for position in count) and not op.integer:
        op.make_constant(np.stack([op.constant(position) for position in count], axis))
        return None
    if op.integer:
        for position in count:
            op.require_same_scale(position)
    wide = (*shape[:axis], 1, *shape[axis:])
    parts = [
        op.emit(relax.op.reshape(op.expression(position), wide), f"part{position}")
        for position in count
    ]
    return relax.op.concat(parts, axis)
