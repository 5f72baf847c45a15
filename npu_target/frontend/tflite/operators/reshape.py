"""Operators that only lay a tensor's elements out anew, and those that ask for shapes."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..converters import converts
from ..operation import Operation, is_quantized


@converts("RESHAPE")
def reshape(op: Operation) -> relax.Expr | None:
    shape = op.shape(0)
    wanted = op.integers(1) if op.has(1) else op.option("new_shape", list(op.outputs[0].shape))
    count = math.prod(shape)
    if wanted.count(-1) > 1 or min(wanted, default=1) < -1:
        raise op.refusal(f"{wanted} is no shape")
    if -1 in wanted:
        rest = math.prod(extent for extent in wanted if extent != -1)
        if rest == 0 or count % rest:
            raise op.refusal(f"a tensor of shape {shape} has no shape {wanted}")
        wanted = [count // rest if extent == -1 else extent for extent in wanted]
    return _reshaped(op, tuple(wanted))


@converts("SQUEEZE")
def squeeze(op: Operation) -> relax.Expr | None:
    shape = op.shape(0)
    axes = {axis_of(op, axis, len(shape)) for axis in op.option("squeeze_dims", [])}
    if not axes:
        axes = {axis for axis, extent in enumerate(shape) if extent == 1}
    return _reshaped(op, tuple(n for axis, n in enumerate(shape) if axis not in axes))


@converts("EXPAND_DIMS")
def expand_dims(op: Operation) -> relax.Expr | None:
    shape = op.shape(0)
    (axis,) = op.integers(1)
    axis = axis_of(op, axis, len(shape) + 1)
    return _reshaped(op, (*shape[:axis], 1, *shape[axis:]))


def _reshaped(op: Operation, shape: tuple[int, ...]) -> relax.Expr | None:
    if math.prod(shape) != math.prod(op.shape(0)):
        raise op.refusal(f"a tensor of shape {op.shape(0)} has no shape {shape}")
    if op.is_constant(0):
        op.make_constant(op.constant(0).reshape(shape))
        return None
    value = op.expression(0)
    return value if shape == op.shape(0) else relax.op.reshape(value, shape)


@converts("TRANSPOSE")
def transpose(op: Operation) -> relax.Expr | None:
    order = op.integers(1)
    if sorted(order) != list(range(len(op.shape(0)))):
        raise op.refusal(f"{order} is no order of {len(op.shape(0))} axes")
    if op.is_constant(0):
        op.make_constant(op.constant(0).transpose(order))
        return None
    return relax.op.permute_dims(op.expression(0), order)


@converts("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def depth_to_space(op: Operation) -> relax.Expr:
    shape, block = op.shape(0), op.option("block_size")
    if len(shape) != 4 or block < 1:
        raise op.refusal(f"an operand of shape {shape} has no blocks of {block}")
    n, h, w, c = shape
    if op.kind == "DEPTH_TO_SPACE":
        apart = (n, h, w, block, block, c // block**2)
        together = (n, h * block, w * block, c // block**2)
    else:
        apart = (n, h // block, block, w // block, block, c)
        together = (n, h // block, w // block, c * block**2)
    if math.prod(apart) != math.prod(shape):
        raise op.refusal(f"an operand of shape {shape} has no whole blocks of {block}")
    blocks = op.emit(relax.op.reshape(op.expression(0), apart), "blocks")
    ordered = op.emit(relax.op.permute_dims(blocks, [0, 1, 3, 2, 4, 5]), "ordered")
    return relax.op.reshape(ordered, together)


@converts("SHAPE")
def shape(op: Operation) -> None:
    op.make_constant(np.array(op.shape(0), op.outputs[0].dtype))


@converts("CAST")
def cast(op: Operation) -> relax.Expr | None:
    dtype = op.outputs[0].dtype
    if is_quantized(op.tensor(0)) or is_quantized(op.outputs[0]):
        raise op.refusal("it reads or makes quantized numbers without their scale")
    if op.is_constant(0):
        op.make_constant(op.constant(0).astype(dtype))
        return None
    return relax.op.astype(op.expression(0), dtype)


@converts("ARG_MAX", "ARG_MIN")
def arg_max(op: Operation) -> relax.Expr:
    (axis,) = op.integers(1)
    axis = axis_of(op, axis, len(op.shape(0)))
    search = relax.op.argmax if op.kind == "ARG_MAX" else relax.op.argmin
    place = op.emit(search(op.expression(0), axis), "int64")
    return relax.op.astype(place, op.outputs[0].dtype)


def axis_of(op: Operation, axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise op.refusal(f"there is no axis {axis} of {rank}")
    return axis % rank
