"""The device's steps of a nest.

A definition cuts its pixels into equal steps.  Where the rows of neighbouring steps follow each
other in the memories, they are a block of rows, which the device cuts as suits it
(:mod:`npu_target.device.intrinsic`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ..device.intrinsic import Access, Intrinsic, Operand
from ..passes.linear import Linear
from ..passes.transfers import LoopExtent
from .operations import LoopIds


class Step(NamedTuple):
    """A step as a definition has it: what it touches of each operand, from which row on, and the
    numbers of its call."""

    intrinsic: Intrinsic
    operands: tuple[Operand, ...]
    first_rows: tuple[Linear, ...]
    numbers: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows it is of."""
        return max([operand.rows for operand in self.operands if operand.follows], default=1)

    def substitute(self, values: Mapping[int, Linear]) -> Step:
        """The step where loops have these values."""
        rows = tuple([form.substitute(values) for form in self.first_rows])
        return tuple.__new__(Step, (self.intrinsic, self.operands, rows, self.numbers))

    def replaced(self, loop_id: int, value: Linear) -> Step:
        """The step where one loop has a value."""
        rows = tuple([form.replaced(loop_id, value) for form in self.first_rows])
        return tuple.__new__(Step, (self.intrinsic, self.operands, rows, self.numbers))

    def follows(self, loop: LoopExtent, rows: int) -> bool:
        """Whether an iteration's rows follow the so many of the one before, with the same of the
        operands that do not."""
        for operand, form in zip(self.operands, self.first_rows, strict=True):
            if not operand.follows:
                if form.depends_on(loop.loop_id):
                    return False
            elif form.coefficient(loop.loop_id) != rows * operand.row_step or not form.is_linear_in(
                loop.loop_id
            ):
                return False
        return any(operand.follows for operand in self.operands)

    def changes_stationary(self, loop: LoopExtent) -> bool:
        """Whether a loop's iterations differ in operands that do not follow."""
        both = zip(self.operands, self.first_rows, strict=True)
        return any(not x.follows and form.depends_on(loop.loop_id) for x, form in both)

    def reduces(self, loop: LoopExtent) -> bool:
        """Whether a loop's iterations add to the same sums."""
        both = zip(self.operands, self.first_rows, strict=True)
        sums = [form for operand, form in both if operand.access is Access.ADD]
        return bool(sums) and not any(form.depends_on(loop.loop_id) for form in sums)


class Run(NamedTuple):
    """Steps of equal size that follow each other: the first row, rows of each, and how many."""

    first_row: int
    rows: int
    times: int


class _Level(NamedTuple):
    """Of a loop around steps how many blocks of rows an iteration has, and whether its iterations
    add to the same sums."""

    positions: int
    reduces: bool


class BlockRows(NamedTuple):
    """The rows that blocks touch of an operand, counted from its first.

    extents : of the loops around a block.
    along : rows by which an iteration of each loop is further.
    rows, row_step : how many rows a block touches, and how far they lie apart.
    """

    extents: tuple[int, ...]
    along: tuple[int, ...]
    rows: int
    row_step: int

    def of_blocks(self) -> np.ndarray:
        """By block, in their order: int64 of blocks and rows of a block."""
        found = np.zeros(1, dtype=np.int64)
        for extent, step in zip(self.extents, self.along, strict=True):
            found = (found[:, None] + np.arange(extent) * step).ravel()
        return found[:, None] + np.arange(self.rows) * self.row_step

    def blocks(self, rows: np.ndarray, *, first: bool) -> np.ndarray:
        """The first or the last block that touches each of some rows; the number of blocks, or -1,
        for what none does.  The rows are int64 of any shape."""
        low, blocks = _blocks_of_rows(self, first)
        return blocks[np.minimum(np.maximum(rows - low, 0), len(blocks) - 1)]


@lru_cache(maxsize=128)  # the nests of a loop's iterations have the same
def _blocks_of_rows(of: BlockRows, first: bool) -> tuple[int, np.ndarray]:
    """`BlockRows.blocks` of all rows from one on, from one before those that any block touches to
    one behind."""
    touched = of.of_blocks()
    low = int(touched.min()) - 1
    n_blocks = len(touched)
    found = np.full(int(touched.max()) - low + 2, n_blocks if first else -1, dtype=np.int64)
    order = np.arange(n_blocks)
    if first:  # of several values for a row the last one stays
        touched, order = touched[::-1], order[::-1]
    found[touched - low] = order[:, None]
    found.flags.writeable = False
    return low, found


class Steps:
    """A nest of steps.

    loops : around a block of rows, outermost first, those that leave the stationary operands as
        they are last.
    runs : the steps of a block of rows.
    overwrites : whether the first part of the reduction is written over what the sums were.
    coalesce : whether the device cuts a block of rows as suits it; else a block is a step of the
        definition.
    """

    def __init__(
        self, step: Step, loops: tuple[LoopExtent, ...], overwrites: bool, *, coalesce: bool = True
    ) -> None:
        rows = step.rows
        around = list(loops)
        while coalesce and around and step.follows(around[-1], rows):
            rows *= around[-1].extent
            step = step.replaced(around.pop().loop_id, Linear())
        self.step = step
        self.loops = tuple(around)
        self.overwrites = overwrites
        self.rows = rows
        self._forget()
        # Of the loops, the outer ones, that change the stationary operands.
        self.n_changing = self._n_changing()
        self.runs: list[Run] = []
        first = 0
        for size, times in step.intrinsic.sizes(rows) if coalesce else [(rows, 1)]:
            self.runs.append(Run(first, size, times))
            first += size * times

    def _forget(self) -> None:
        """What was found of the loops does not hold, since they are others."""
        self._touched: list[tuple[Linear, BlockRows]] | None = None
        self._levels: list[_Level] | None = None

    def _n_changing(self) -> int:
        changing = len(self.loops)
        if self.step.intrinsic.keeps_stationary:
            while changing and not self.step.changes_stationary(self.loops[changing - 1]):
                changing -= 1
        return changing

    @property
    def n_blocks(self) -> int:
        """How many blocks of rows there are."""
        return prod([loop.extent for loop in self.loops])

    @property
    def cycles(self) -> float:
        """How long they take at least."""
        loaded = prod([loop.extent for loop in self.loops[: self.n_changing]])
        return self.step.intrinsic.cycles(self.n_blocks, self.rows, loaded)

    def split(self, level: int, inner: int, ids: LoopIds) -> Steps:
        """The same steps, a loop in two: the inner one of so many iterations."""
        loop = self.loops[level]
        assert loop.extent % inner == 0, "steps would be lost"
        outer, within = ids.loop(loop.extent // inner), ids.loop(inner)
        index = Linear.loop(outer.loop_id) * inner + Linear.loop(within.loop_id)
        loops = (*self.loops[:level], outer, within, *self.loops[level + 1 :])
        found = copy(self)
        found.step, found.loops = self.step.replaced(loop.loop_id, index), loops
        found._forget()
        found.n_changing = self.n_changing + (level < self.n_changing)
        return found

    def in_halves(self, ids: LoopIds) -> Steps | None:
        """The same steps, those of the second half of the outermost loop by turns with those of the
        first; None where these have no parts to take turns, or more than sums depends on it."""
        if not self.loops or not self.reduces(0):
            return None
        parts, odd = divmod(self.loops[0].extent, 2)
        if odd or parts == 1:
            return None
        found = self.split(0, parts, ids)
        half, within, *inner = found.loops
        found.loops = (within, half, *inner)
        found._forget()
        return found

    def outer_product(self) -> Steps | None:
        """The same steps, the loops that add to the same sums outside of all others; None where
        they are, or there are none."""
        return self._sorted(lambda loop: not self.step.reduces(loop))

    def inner_product(self) -> Steps | None:
        """The same steps, those that add to the same sums one after the other; None where they
        do, or there are none."""
        return self._sorted(self.step.reduces)

    def _sorted(self, key: Callable[[LoopExtent], bool]) -> Steps | None:
        loops = tuple(sorted(self.loops, key=key))
        if loops == self.loops:
            return None
        found = copy(self)
        found.loops = loops
        found._forget()
        found.n_changing = found._n_changing()
        return found

    def reduces(self, level: int) -> bool:
        """Whether a loop's iterations add to the same sums."""
        return self._level(level).reduces

    def positions(self, level: int) -> int:
        """How many blocks of rows an iteration of the loop at a level has."""
        return self._level(level).positions

    def _level(self, level: int) -> _Level:
        if self._levels is None:
            inner = [
                prod([loop.extent for loop in self.loops[i:]])
                for i in range(1, 1 + len(self.loops))
            ]
            reduces = map(self.step.reduces, self.loops)
            self._levels = list(map(_Level, inner, reduces))
        return self._levels[level]

    def touched(self) -> list[tuple[Linear, BlockRows]] | None:
        """For each operand, its first row as a form without the nest's loops, and the rows that
        each block touches, counted from there.  None where they do not run evenly."""
        if self._touched is None:
            self._touched = self._find_touched()
        return self._touched

    def _find_touched(self) -> list[tuple[Linear, BlockRows]] | None:
        found = []
        ids = [loop.loop_id for loop in self.loops]
        extents = tuple([loop.extent for loop in self.loops])
        for operand, form in zip(self.step.operands, self.step.first_rows, strict=True):
            if not all([form.is_linear_in(loop_id) for loop_id in ids]):
                return None
            along = tuple([form.coefficient(loop_id) for loop_id in ids])
            rows = self.rows if operand.follows else operand.rows
            found.append((form.without(*ids), BlockRows(extents, along, rows, operand.row_step)))
        return found
