"""CONCATENATION and PACK."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer.table import int8_values
from ..converters import converts
from ..operation import UINT8_OFFSET, Operation
from .fused import fused_bounds, integer_bounds, with_activation
from .pool import within
from .reshape import axis_of
from .tables import emit_table, half_away


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
    # As the file has them.
    offset = UINT8_OFFSET if op.tensor(position).dtype == "uint8" else 0
    steps = (int8_values().astype(np.int32) + offset).astype(np.float32)
    scale = np.float32(operand.scale) * (np.float32(1) / np.float32(result.scale))
    bias = np.float32(-(operand.zero_point + offset)) * scale
    values = half_away(steps * scale + bias) + result.zero_point
    return emit_table(op, value, values, f"part{position}")


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
