"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, between which a file has its dilated convolutions."""

from __future__ import annotations

import math

from tvm import relax

from ..converters import converts
from ..file import MOST_ELEMENTS
from ..operation import Operation


@converts("SPACE_TO_BATCH_ND")
def space_to_batch(op: Operation) -> relax.Expr:
    batch, space, rest = _axes(op)
    blocks, widths, rank = _blocks(op), _pairs(op), len(space)
    padded = [n + before + after for n, (before, after) in zip(space, widths, strict=True)]
    if any(n % block for n, block in zip(padded, blocks, strict=True)):
        raise op.refusal(f"padded to {padded}, it has no whole blocks of {blocks}")
    if batch * math.prod((*padded, *rest)) > MOST_ELEMENTS:
        raise op.refusal(f"padded to {padded}, it is too large")
    value = op.expression(0)
    if any(any(pair) for pair in widths):
        zero = float(op.result.zero_point) if op.integer else 0.0
        flat = [0, 0, *(width for pair in widths for width in pair), *[0, 0] * len(rest)]
        value = op.emit(relax.op.nn.pad(value, flat, pad_value=zero), "padded")
    counts = [n // block for n, block in zip(padded, blocks, strict=True)]
    apart = [batch]
    for count, block in zip(counts, blocks, strict=True):
        apart += [count, block]
    # What lies at the same place of all blocks is an image.
    axes = [*range(2, 2 * rank + 1, 2), 0, *range(1, 2 * rank, 2)]
    axes += range(2 * rank + 1, 2 * rank + 1 + len(rest))
    value = op.emit(relax.op.reshape(value, (*apart, *rest)), "blocks")
    value = op.emit(relax.op.permute_dims(value, axes), "ordered")
    return relax.op.reshape(value, (batch * math.prod(blocks), *counts, *rest))


@converts("BATCH_TO_SPACE_ND")
def batch_to_space(op: Operation) -> relax.Expr:
    batch, space, rest = _axes(op)
    blocks, crops, rank = _blocks(op), _pairs(op), len(space)
    if batch % math.prod(blocks):
        raise op.refusal(f"{batch} images are no whole blocks of {blocks}")
    batch //= math.prod(blocks)
    axes = [rank]
    for axis in range(rank):
        axes += [rank + 1 + axis, axis]
    axes += range(2 * rank + 1, 2 * rank + 1 + len(rest))
    whole = [n * block for n, block in zip(space, blocks, strict=True)]
    kept = [(before, n - after) for n, (before, after) in zip(whole, crops, strict=True)]
    if any(begin > end for begin, end in kept):
        raise op.refusal(f"crops of {crops} leave nothing of {whole}")
    value = op.emit(relax.op.reshape(op.expression(0), (*blocks, batch, *space, *rest)), "images")
    value = op.emit(relax.op.permute_dims(value, axes), "ordered")
    value = relax.op.reshape(value, (batch, *whole, *rest))
    if not any(any(pair) for pair in crops):
        return value
    begins, ends = zip(*kept, strict=True)
    axes = list(range(1, rank + 1))
    return relax.op.strided_slice(op.emit(value, "whole"), axes, list(begins), list(ends))


def _axes(op: Operation) -> tuple[int, list[int], list[int]]:
    """Extents of the batch, of space and of what is behind; elements are moved as they are."""
    if op.integer:
        op.require_same_scale()
    batch, *extents = op.shape(0)
    rank = len(_blocks(op))
    return batch, extents[:rank], extents[rank:]


def _blocks(op: Operation) -> list[int]:
    """Of each axis of space, those behind the first."""
    blocks = op.integers(1)
    if not 1 <= len(blocks) < len(op.shape(0)) or min(blocks) < 1:
        raise op.refusal(f"blocks of {blocks} do not fit a tensor of shape {op.shape(0)}")
    return blocks


def _pairs(op: Operation) -> list[tuple[int, int]]:
    """Before and after, for each axis of space."""
    flat = op.integers(2)
    if len(flat) != 2 * len(op.integers(1)) or min(flat) < 0:
        raise op.refusal(f"widths {flat} do not fit blocks of {op.integers(1)}")
    return list(zip(flat[::2], flat[1::2], strict=True))
