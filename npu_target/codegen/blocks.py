"""Which block of steps each iteration of a copy has to precede or to follow, and how the copy is
cut for that.  What is found is kept: copies of a loop's iterations have the same."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..topi.blocking import ceil_div


class Blocks:
    """For each iteration of a copy's loops the block of rows, counted in the order of the steps;
    int64 of the loops' extents.  One object for equal ones makes that they are looked at once."""

    __slots__ = ("values",)

    def __init__(self, values: np.ndarray) -> None:
        self.values = values


class Ahead(NamedTuple):
    """What of a copy the iterations of a loop need: with the ``axis``-th of its loops (None where
    none tells these apart), ``at_once`` iterations the first one, and ``later`` ones the others,
    ``each`` an iteration at most.

    first : the first iteration that needs any of it.
    in_order : whether later iterations of its loop are not needed sooner.
    """

    first: int
    axis: int | None = None
    in_order: bool = True
    at_once: int = 0
    later: int = 0
    each: int = 1


class Behind(NamedTuple):
    """What of a copy may follow the iterations of a loop inside of it: ``early`` iterations of the
    ``axis``-th of its loops, ``each`` in an iteration of the loop from ``begin`` on; ``late`` ones
    follow the last."""

    axis: int
    early: int
    late: int
    begin: int
    each: int


@lru_cache(maxsize=512)
def ahead(blocks: Blocks, inner: int, extent: int) -> Ahead:
    """For a loop of so many iterations of ``inner`` blocks each."""
    needed = np.minimum(blocks.values // inner, extent)  # the iteration
    axis, per_index = varying(needed, least=True)
    first = int(needed.min())
    if axis is None or np.any(np.diff(per_index) < 0):
        return Ahead(first, axis, in_order=axis is None)
    at_once = int(np.count_nonzero(per_index == 0))
    later = len(per_index) - at_once
    each = 1
    if later:
        each = int(np.max(-(-np.arange(1, later + 1) // np.maximum(per_index[at_once:], 1))))
    return Ahead(first, axis, True, at_once, later, each)


@lru_cache(maxsize=512)
def behind(blocks: Blocks, inner: int, extent: int) -> Behind | None:
    """As `ahead`; None where all of it has to follow the last iteration."""
    ready = np.maximum(blocks.values, -1) // inner  # the iteration
    axis, per_index = varying(ready, least=False)
    if axis is None or np.any(np.diff(per_index) < 0):
        return None
    late = int(np.count_nonzero(per_index >= extent - 1))
    early = len(per_index) - late
    for begin in range(int(per_index[0]) + 1, extent):
        each = max(1, ceil_div(early, extent - begin))
        if np.all(begin + np.arange(early) // each > per_index[:early]):
            return Behind(axis, early, late, begin, each)
    return None


@lru_cache(maxsize=512)
def from_block(blocks: Blocks, first: int) -> Blocks:
    """Counted from a block on."""
    return Blocks(blocks.values - first)


@lru_cache(maxsize=512)
def some_of(blocks: Blocks, axis: int, start: int, count: int) -> Blocks:
    """Of ``count`` iterations of a loop."""
    values = np.take(blocks.values, range(start, start + count), axis=axis)
    return Blocks(values.squeeze(axis) if count == 1 else values)


def varying(values: np.ndarray, *, least: bool) -> tuple[int | None, np.ndarray]:
    """The axis along which the least (or greatest) value of all others differs most, and those
    values; None where none does."""
    best: tuple[int | None, np.ndarray] = (None, values)
    most = 0
    for axis in range(values.ndim):
        along = values
        if values.ndim > 1:
            others = tuple(other for other in range(values.ndim) if other != axis)
            along = values.min(axis=others) if least else values.max(axis=others)
        spread = int(along.max() - along.min())
        if spread > most:
            best, most = (axis, along), spread
    return best
