"""The array's steps of a nest: preloads and computes.

A definition cuts its pixels into equal steps.  Where the rows of neighbouring steps follow each
other in the scratchpad and in the accumulator, the cut is made anew here, for the device: a step
that overlaps with the preload of other weights takes at least ``dim`` cycles, so the last step
before a change is a full one, and the others share the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..device import DeviceConfig
from ..devices.gemmini.isa import (
    GARBAGE,
    ComputeAccumulated,
    ComputePreloaded,
    ConfigEx,
    LocalAddress,
    Preload,
)
from ..passes.linear import Linear
from ..passes.transfers import LoopExtent
from ..program import Node, device_command
from .cost import ceil_div
from .operands import to_operand
from .operations import LoopIds

# Steps of fewer rows wait for the array's queues: see docs/simulator.md.
_LEAST_ROWS = 8
# Where rows of operands, and of sums that are added to, are counted from.
_INPUTS = LocalAddress(0)
_SUMS = LocalAddress(0, accumulator=True, accumulate=True)
_FIRST_SUMS = LocalAddress(0, accumulator=True)


class ArrayStep(NamedTuple):
    """A step as a definition has it: first rows of its operands and of its sums, how many rows
    (``rows``), and how far apart those of operand A are (``row_step``)."""

    a: Linear
    b: Linear
    c: Linear
    rows: int
    row_step: int

    def substitute(self, values: Mapping[int, Linear]) -> ArrayStep:
        """The step where loops have these values."""
        a, b, c = (form.substitute(values) for form in (self.a, self.b, self.c))
        return self._replace(a=a, b=b, c=c)


class Run(NamedTuple):
    """Steps of equal size that follow each other: the first row, rows of each, and how many."""

    first_row: int
    rows: int
    times: int


class Steps:
    """A nest of array steps.

    loops : around a block of rows, outermost first, those that leave the weights as they are last.
    runs : the steps of a block of rows.
    overwrites : whether the first part of the reduction is written over what the sums were.
    """

    def __init__(
        self, step: ArrayStep, loops: tuple[LoopExtent, ...], overwrites: bool, config: DeviceConfig
    ) -> None:
        rows = step.rows
        around = list(loops)
        while around and _follow(step, around[-1], rows):
            rows *= around[-1].extent
            step = step.substitute({around.pop().loop_id: Linear()})
        self.step = step
        self.loops = tuple(around)
        self.overwrites = overwrites
        self.rows = rows
        self._touched: list[tuple[Linear, np.ndarray]] | None = None
        self.config = config
        sizes = step_sizes(rows, config.dim) if rows > config.dim else [(rows, 1)]
        self.n_changing = len(around)  # of the loops, the outer ones, that change the weights
        while self.n_changing and not step.b.depends_on(around[self.n_changing - 1].loop_id):
            self.n_changing -= 1
        self.runs: list[Run] = []
        first = 0
        for size, times in sizes:
            self.runs.append(Run(first, size, times))
            first += size * times

    @property
    def n_blocks(self) -> int:
        """How many blocks of rows there are."""
        return int(np.prod([loop.extent for loop in self.loops], dtype=np.int64))

    @property
    def cycles(self) -> int:
        """How long the array takes at least: a row a cycle, and never less than a preload for
        weights that change."""
        weights = int(np.prod([x.extent for x in self.loops[: self.n_changing]], dtype=np.int64))
        return max(self.n_blocks * self.rows, weights * self.config.dim)

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
        return not self.step.c.depends_on(self.loops[level].loop_id)

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
        rows = np.arange(self.rows)
        found = []
        for form, offsets in (
            (self.step.a, rows * self.step.row_step),
            (self.step.b, np.arange(self.config.dim)),
            (self.step.c, rows),
        ):
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


def pair(
    step: ArrayStep, row: Linear, rows: int, dim: int, *, new_weights: bool, overwrites: bool
) -> tuple[Node, ...]:
    """A preload and a compute of ``rows`` rows from ``row`` on; with the weights that are there
    already, or new ones."""
    weights: Any = (_INPUTS, to_operand(step.b)) if new_weights else GARBAGE
    compute = ComputePreloaded if new_weights else ComputeAccumulated
    return (
        device_command(
            Preload,
            bd=weights,
            bd_cols=dim,
            bd_rows=dim,
            c=(_FIRST_SUMS if overwrites else _SUMS, to_operand(step.c + row)),
            c_cols=dim,
            c_rows=rows,
        ),
        device_command(
            compute,
            a=(_INPUTS, to_operand(step.a + row * step.row_step)),
            a_cols=dim,
            a_rows=rows,
            bd=GARBAGE,
            bd_cols=dim,
            bd_rows=rows,
        ),
    )


def step_sizes(rows: int, dim: int) -> list[tuple[int, int]]:
    """Steps for more than ``dim`` rows as ``(rows, how many)``: as few as can be, of equal sizes
    but for the first one and the last one, which is full."""
    number = ceil_div(rows, dim)
    rest, others = rows - dim, number - 1
    for size in (-(-rest // others), rest // others):
        first = rest - size * (others - 1)
        if min(_LEAST_ROWS, size) <= first <= dim and size <= dim:
            middle = [(size, others - 1)] if others > 1 else []
            return [(first, 1), *middle, (dim, 1)]
    return [(rows - dim * others, 1), (dim, others)]


def _follow(step: ArrayStep, loop: LoopExtent, rows: int) -> bool:
    """Whether an iteration's rows follow those of the one before, with the same weights."""
    return (
        not step.b.depends_on(loop.loop_id)
        and step.a.is_linear_in(loop.loop_id)
        and step.c.is_linear_in(loop.loop_id)
        and step.a.coefficient(loop.loop_id) == rows * step.row_step
        and step.c.coefficient(loop.loop_id) == rows
    )


@lru_cache(maxsize=256)
def array_setting(a_stride: int) -> ConfigEx:
    """The setting for steps whose rows of A lie so far apart."""
    return ConfigEx(weight_stationary=True, a_stride=a_stride)
