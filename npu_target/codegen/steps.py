"""The device's steps of a nest.

A definition cuts its pixels into equal steps.  Where the rows of neighbouring steps follow each
other in the memories, they are a block of rows, which the device cuts as suits it
(:mod:`npu_target.device.intrinsic`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
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
        return Step(self.intrinsic, self.operands, rows, self.numbers)

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
            step = step.substitute({around.pop().loop_id: Linear()})
        self.step = step
        self.loops = tuple(around)
        self.overwrites = overwrites
        self.rows = rows
        self._touched: list[tuple[Linear, np.ndarray]] | None = None
        # Of the loops, the outer ones, that change the stationary operands.
        self.n_changing = len(around)
        if step.intrinsic.keeps_stationary:
            while self.n_changing and not step.changes_stationary(around[self.n_changing - 1]):
                self.n_changing -= 1
        self.runs: list[Run] = []
        first = 0
        for size, times in step.intrinsic.sizes(rows) if coalesce else [(rows, 1)]:
            self.runs.append(Run(first, size, times))
            first += size * times

    @property
    def n_blocks(self) -> int:
        """How many blocks of rows there are."""
        return int(np.prod([loop.extent for loop in self.loops], dtype=np.int64))

    @property
    def cycles(self) -> float:
        """How long they take at least."""
        loaded = int(np.prod([x.extent for x in self.loops[: self.n_changing]], dtype=np.int64))
        return self.step.intrinsic.cycles(self.n_blocks, self.rows, loaded)

    def split(self, level: int, inner: int, ids: LoopIds) -> Steps:
        """The same steps, a loop in two: the inner one of so many iterations."""
        loop = self.loops[level]
        outer, within = ids.loop(loop.extent // inner), ids.loop(inner)
        index = Linear.loop(outer.loop_id) * inner + Linear.loop(within.loop_id)
        loops = (*self.loops[:level], outer, within, *self.loops[level + 1 :])
        found = copy(self)
        found.step, found.loops = self.step.substitute({loop.loop_id: index}), loops
        found._touched = None
        found.n_changing = self.n_changing + (level < self.n_changing)
        return found

    def reduces(self, level: int) -> bool:
        """Whether a loop's iterations add to the same sums."""
        return self.step.reduces(self.loops[level])

    def positions(self, level: int) -> int:
        """How many blocks of rows an iteration of the loop at a level has."""
        return int(np.prod([loop.extent for loop in self.loops[level + 1 :]], dtype=np.int64))

    def touched(self) -> list[tuple[Linear, np.ndarray]] | None:
        """For each operand, its first row as a form without the nest's loops, and the rows that
        each block touches: int64 of the loops' extents and then the rows of a block, counted from
        zero.  None where they do not run evenly."""
        if self._touched is None:
            self._touched = self._find_touched()
        return self._touched

    def _find_touched(self) -> list[tuple[Linear, np.ndarray]] | None:
        found = []
        for operand, form in zip(self.step.operands, self.step.first_rows, strict=True):
            offsets = np.arange(self.rows if operand.follows else operand.rows) * operand.row_step
            total = np.zeros((1,) * len(self.loops), dtype=np.int64)
            for axis, loop in enumerate(self.loops):
                if not form.is_linear_in(loop.loop_id):
                    return None
                shape = [1] * len(self.loops)
                shape[axis] = loop.extent
                along = np.arange(loop.extent) * form.coefficient(loop.loop_id)
                total = total + along.reshape(shape)
            total = np.broadcast_to(total, tuple(loop.extent for loop in self.loops))
            found.append(
                (form.without(*(loop.loop_id for loop in self.loops)), total[..., None] + offsets)
            )
        return found
