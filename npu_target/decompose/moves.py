"""Moves of elements, emitted where they move something."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from ..relax_graph import shape_of


def reshaped(
    builder: relax.BlockBuilder, value: relax.Expr, shape: Sequence[int], name: str
) -> relax.Expr:
    """The same elements in order, in another shape."""
    if shape_of(value) == tuple(shape):
        return value
    return builder.emit(relax.op.reshape(value, tuple(shape)), f"{name}_reshaped")


def permuted(
    builder: relax.BlockBuilder, value: relax.Expr, axes: Sequence[int], name: str
) -> relax.Expr:
    """With its axes in another order."""
    if list(axes) == sorted(axes):
        return value
    return builder.emit(relax.op.permute_dims(value, list(axes)), f"{name}_permuted")


def padded(
    builder: relax.BlockBuilder,
    value: relax.Expr,
    widths: Sequence[tuple[int, int]],
    name: str,
    number: float = 0,
) -> relax.Expr:
    """With so many elements of a number before and behind each axis."""
    if not any(width for pair in widths for width in pair):
        return value
    flat = [width for pair in widths for width in pair]
    return builder.emit(relax.op.nn.pad(value, flat, pad_value=number), f"{name}_padded")


def cropped(
    builder: relax.BlockBuilder,
    value: relax.Expr,
    begin: Sequence[int],
    extents: Sequence[int],
    name: str,
) -> relax.Expr:
    """The part of these extents that begins there."""
    shape = shape_of(value)
    if shape == tuple(extents):
        return value
    axes = [axis for axis, extent in enumerate(extents) if extent != shape[axis]]
    part = relax.op.strided_slice(
        value,
        axes,
        [begin[axis] for axis in axes],
        [begin[axis] + extents[axis] for axis in axes],
    )
    return builder.emit(part, f"{name}_part")
