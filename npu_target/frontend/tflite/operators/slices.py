"""Operators that take parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ..converters import converts
from ..operation import Operation
from .reshape import axis_of


@converts("SLICE")
def slice_(op: Operation) -> relax.Expr | None:
    shape, begins, sizes = op.shape(0), op.integers(1), op.integers(2)
    if not len(shape) == len(begins) == len(sizes):
        raise op.refusal(f"begins {begins} and sizes {sizes} do not fit shape {shape}")
    index = []
    for extent, begin, size in zip(shape, begins, sizes, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise op.refusal(f"begins {begins} and sizes {sizes} do not fit shape {shape}")
        index.append(slice(begin, end))
    return _part(op, 0, index)


@converts("STRIDED_SLICE")
def strided_slice(op: Operation) -> relax.Expr | None:
    begins, ends, strides = (op.integers(position) for position in (1, 2, 3))
    if not len(begins) == len(ends) == len(strides):
        raise op.refusal(f"it has {len(begins)} begins, {len(ends)} ends, {len(strides)} strides")
    masks = {
        name: op.option(f"{name}_mask", 0)
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    index: list[Any] = []
    for position, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        asked = {name for name, mask in masks.items() if mask >> position & 1}
        if op.option("offset", False):
            end = begin + end
        if "ellipsis" in asked:
            index.append(...)
        elif "new_axis" in asked:
            index.append(None)
        elif "shrink_axis" in asked:
            index.append(begin)
        elif stride < 1:
            raise op.refusal(f"its stride {stride} is not positive")
        else:
            index.append(
                slice(None if "begin" in asked else begin, None if "end" in asked else end, stride)
            )
    return _part(op, 0, index)


@converts("SPLIT")
def split(op: Operation) -> list[relax.Expr]:
    (axis,) = op.integers(0)
    axis = axis_of(op, axis, len(op.shape(1)))
    count, extent = len(op.outputs), op.shape(1)[axis]
    if extent % count:
        raise op.refusal(f"an axis of {extent} has no {count} equal parts")
    return _parts(op, 1, axis, [extent // count] * count)


@converts("SPLIT_V")
def split_v(op: Operation) -> list[relax.Expr]:
    sizes, (axis,) = op.integers(1), op.integers(2)
    axis = axis_of(op, axis, len(op.shape(0)))
    extent = op.shape(0)[axis]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = extent - sum(sizes) - 1
    if min(sizes, default=-1) < 0 or sum(sizes) != extent or len(sizes) != len(op.outputs):
        raise op.refusal(f"an axis of {extent} has no parts of {sizes}")
    return _parts(op, 0, axis, sizes)


@converts("UNPACK")
def unpack(op: Operation) -> list[relax.Expr]:
    shape = op.shape(0)
    axis = axis_of(op, op.option("axis", 0), len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    if shape[axis] != len(op.outputs):
        raise op.refusal(f"an axis of {shape[axis]} is no {len(op.outputs)} tensors")
    return [
        relax.op.reshape(op.emit(part, f"part{number}"), rest)
        for number, part in enumerate(_parts(op, 0, axis, [1] * shape[axis]))
    ]


@converts("GATHER")
def gather(op: Operation) -> relax.Expr | None:
    shape = op.shape(0)
    axis = axis_of(op, op.option("axis", 0), len(shape))
    if op.option("batch_dims", 0) != 0:
        raise op.refusal("it gathers for each index of a batch by itself")
    if op.integer:
        op.require_same_scale()
    if not op.is_constant(1):
        return relax.op.take(op.expression(0), op.expression(1), axis, mode="clip")
    positions = op.constant(1)
    if positions.size and not 0 <= positions.min() <= positions.max() < shape[axis]:
        raise op.refusal(f"it gathers what is not among the {shape[axis]} of axis {axis}")
    if op.is_constant(0) and not op.integer:
        op.make_constant(np.take(op.constant(0), positions, axis))
        return None
    return taken(op.expression(0), positions.astype(np.int32), axis)


def taken(value: relax.Expr, positions: np.ndarray, axis: int) -> relax.Expr:
    """The elements at constant int32 positions of an axis."""
    # All are within the axis; "fast", the default, warns of those that are not.
    return relax.op.take(value, relax.const(positions, "int32"), axis, mode="clip")


def _parts(op: Operation, position: int, axis: int, sizes: Sequence[int]) -> list[relax.Expr]:
    begin, parts = 0, []
    for size in sizes:
        value = op.expression(position)
        parts.append(relax.op.strided_slice(value, [axis], [begin], [begin + size], [1]))
        begin += size
    return parts


def _part(op: Operation, position: int, index: Sequence[Any]) -> relax.Expr | None:
    """What NumPy's indexing gives; all bounds are within the shape, or beyond it as in Python."""
    shape = op.shape(position)
    try:
        # Without its elements: only for the shape, and for the errors of a wrong index.
        result = np.broadcast_to(np.int8(0), shape)[tuple(index)].shape
    except IndexError as error:
        raise op.unfit(error) from error
    if op.is_constant(position) and not op.integer:
        op.make_constant(op.constant(position)[tuple(index)])
        return None
    if 0 in result:
        raise op.refusal(f"of an operand of shape {shape} it takes nothing")
    consumed = sum(entry is not None and entry is not ... for entry in index)
    fill = [slice(None)] * (len(shape) - consumed)
    at = list(index).index(...) if ... in index else len(index)
    full = [entry for entry in [*index[:at], *fill, *index[at + 1 :]] if entry is not None]
    bounds = []
    for entry, extent in zip(full, shape, strict=True):
        if isinstance(entry, slice):
            bounds.append(entry.indices(extent))
        else:
            bounds.append((entry % extent, entry % extent + 1, 1))
    kept = [
        axis
        for axis, (bound, extent) in enumerate(zip(bounds, shape, strict=True))
        if bound != (0, extent, 1)
    ]
    value = op.expression(position)
    if kept:
        begins, ends, strides = zip(*(bounds[axis] for axis in kept), strict=True)
        value = op.emit(
            relax.op.strided_slice(value, kept, list(begins), list(ends), list(strides)), "slice"
        )
    return value if result == op.shape(position) and not kept else relax.op.reshape(value, result)
