"""Copies that others follow to the same rows, stores and loads of sums, and these: both go through
the iterations of a loop of steps row by row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..passes.linear import Item
from ..topi.blocking import ceil_div
from .blocks import Blocks, behind
from .parts import Copy, Part, best_axis, dealt
from .row_pattern import RowPattern


class InStep(NamedTuple):
    """Parts of copies that others follow, and of these."""

    firsts: list[Part]
    lasts: list[Part]


def in_step(
    copies: Sequence[Copy],
    first: int,
    end: int,
    step_cycles: float | None = None,
    store_latency_cycles: float = 0.0,
) -> InStep | None:
    """Parts of the copies that others follow, and of these, each at the earliest in the
    iteration with the last of what it follows, or, by the cycles of an iteration's steps, in
    which that is done.  None where the rows do not tell, or where the copies cannot be cut
    so."""
    firsts = [copy for copy in copies if copy.first]
    lasts = [copy for copy in copies if copy.last]
    iterations = end - first
    if not firsts or not lasts or iterations < 2:
        return None
    rows = [one for copy in (*firsts, *lasts) if (one := _rows_of(copy)) is not None]
    known = len(rows) == len(firsts) + len(lasts)
    if not known or len({one.around for one in rows}) > 1:
        return None
    found = InStep([], [])
    found_rows = []
    for copy, one in zip(firsts, rows[: len(firsts)], strict=True):
        extents = tuple([loop.extent for loop in copy.operation.loops])
        axis = best_axis(extents, iterations)
        each = ceil_div(extents[axis], iterations)
        found.firsts.extend(dealt(copy, axis, 0, extents[axis], first, each))
        late = 0
        if step_cycles is not None:
            cycles = copy.cycles * each / extents[axis] + store_latency_cycles
            late = int(cycles // step_cycles)
        turns = np.minimum(np.arange(extents[axis]) // each + late, iterations - 1)
        found_rows.append(_Dealt(one, axis, tuple(turns.tolist())))
    for copy, one in zip(lasts, rows[len(firsts) :], strict=True):
        place = behind(_preceding(tuple(found_rows), one), 1, iterations)
        if place is None:
            return None
        begin = first + place.begin
        found.lasts.extend(dealt(copy, place.axis, 0, place.early, begin, place.each))
    return found


class _Rows(NamedTuple):
    """The rows that a copy touches: from ``first`` on, and what loops around it add."""

    pattern: RowPattern
    first: int
    around: tuple[Item, ...]


def _rows_of(copy: Copy) -> _Rows | None:
    """None where they are not known, or where the copy cannot be cut."""
    operation = copy.operation
    pattern = operation.row_pattern()
    if pattern is None or not operation.loops or not copy.is_divisible:
        return None
    place = operation.row.without(*[loop.loop_id for loop in operation.loops])
    return _Rows(pattern, place.const, place.items)


class _Dealt(NamedTuple):
    """The rows of a copy, and in which iteration of a loop of steps those of each iteration of one
    of its own loops are issued, or done."""

    rows: _Rows
    axis: int
    turns: tuple[int, ...]


@lru_cache(maxsize=256)
def _preceding(dealt: tuple[_Dealt, ...], rows: _Rows) -> Blocks:
    """For each iteration of a copy with these rows the last one of a loop before which not all that
    it follows is issued; -2 where it follows nothing."""
    low = min(one.first + int(one.pattern.rows.min()) for one, _, _ in dealt)
    high = max(one.first + int(one.pattern.rows.max()) for one, _, _ in dealt)
    issued = np.full(high - low + 3, -1)  # in which iteration, by row, with one before and behind
    for one, axis, turns in dealt:
        touched = one.pattern.rows
        shape = [-1 if i == axis else 1 for i in range(touched.ndim)]
        np.maximum.at(issued, touched + (one.first - low + 1), np.reshape(turns, shape))
    mine = np.clip(rows.pattern.rows + (rows.first - low + 1), 0, len(issued) - 1)
    return Blocks(issued[mine].max(axis=-1) - 1)


def keep_up(both: InStep, iterations: int, step_cycles: float) -> bool:
    """Whether copies, and those that wait for them, are done in each iteration of steps that take
    so long before the next one's."""
    stored = loaded = 0.0
    for at in range(iterations):
        begin = at * step_cycles
        if loaded > begin:
            return False
        stored = max(stored, begin) + _cycles_in(both.firsts, at)
        loading = _cycles_in(both.lasts, at)
        if loading:
            loaded = max(loaded, stored) + loading
    return True


def _cycles_in(parts: Sequence[Part], at: int) -> float:
    """How long an iteration's parts keep their engine."""
    return sum(
        part.commands * part.copy.operation.cycles for part in parts if part.begin <= at < part.end
    )
