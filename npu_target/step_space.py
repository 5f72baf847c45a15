"""The array's steps of a few loop nests, as positions on a line that can be cut anywhere.

A position is an iteration of a nest's perfect loops: what is inside of them stays together.  So
does a preload with its compute, which is what adds to the rows that the preload names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from . import expr
from .config import NpuConfig
from .isa import COMPUTES
from .program_edit import moved
from .program_nodes import Command, Loop, Node
from .program_rows import (
    Access,
    NotConstant,
    RowSettings,
    accesses,
    constant_extent,
    leaves,
    starts,
    without_rows,
)

_COMPUTES = {cls.funct for cls in COMPUTES}


@dataclass(frozen=True)
class _Nest:
    """``inside`` in perfect loops, given as ``(loop id, extent)`` from the outside in."""

    loops: tuple[tuple[int, int], ...]
    inside: tuple[Node, ...]

    @classmethod
    def of(cls, node: Node) -> _Nest:
        loops: list[tuple[int, int]] = []
        inside: tuple[Node, ...] = (node,)
        while len(inside) == 1 and isinstance(inside[0], Loop):
            loop = inside[0]
            loops.append((loop.loop_id, constant_extent(loop)))
            inside = loop.body
        return cls(tuple(loops), inside)

    @classmethod
    def all_of(cls, nodes: tuple[Node, ...]) -> list[_Nest]:
        """The nests of nodes that follow each other.  Raises NotConstant."""
        nests: list[_Nest] = []
        step: tuple[Node, ...] = ()
        for node in nodes:
            if isinstance(node, Command):
                step += (node,)
                if node.funct in _COMPUTES:
                    nests.append(cls((), step))
                    step = ()
            elif step:
                break
            else:
                nests.append(cls.of(node))
        if step:
            raise NotConstant  # a compute is elsewhere than its preload
        return nests

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Positions from each loop inwards, and the one of what is inside of all."""
        extents = [extent for _, extent in reversed(self.loops)]
        return tuple(accumulate(extents, mul, initial=1))[::-1]

    @property
    def positions(self) -> int:
        return self.sizes[0]

    def cut(self, first: int, end: int) -> tuple[Node, ...]:
        """The iterations from ``first`` to ``end``."""
        return self._cut(0, first, end, {})

    def _cut(self, depth: int, first: int, end: int, at: dict[int, int]) -> tuple[Node, ...]:
        if first >= end:
            return ()
        if depth == len(self.loops):
            return moved(self.inside, at)
        loop_id, _ = self.loops[depth]
        size = self.sizes[depth + 1]
        (low, skipped), (high, left) = divmod(first, size), divmod(end, size)
        if low == high:
            return self._cut(depth + 1, skipped, left, {**at, loop_id: low})
        nodes: tuple[Node, ...] = ()
        if skipped:
            nodes += self._cut(depth + 1, skipped, size, {**at, loop_id: low})
            low += 1
        if high - low == 1:
            nodes += self._cut(depth + 1, 0, size, {**at, loop_id: low})
        elif high > low:
            inside = self._whole(depth + 1, {**at, loop_id: low}, {loop_id})
            nodes += (Loop(loop_id, expr.const(high - low), inside),)
        return nodes + self._cut(depth + 1, 0, left, {**at, loop_id: high})

    def _whole(self, depth: int, at: Mapping[int, int], running: set[int]) -> tuple[Node, ...]:
        """All iterations of the loops from ``depth`` on; those of ``running`` begin where ``at``
        says."""
        nodes = moved(self.inside, at, running)
        for loop_id, extent in reversed(self.loops[depth:]):
            nodes = (Loop(loop_id, expr.const(extent), nodes),)
        return nodes


class StepSpace:
    """Positions 0 to ``positions`` of nodes that hold the array's steps and nothing else.

    Raises NotConstant where a loop's extent, or a row, is known only when the program runs.
    """

    def __init__(self, nodes: tuple[Node, ...], settings: RowSettings, config: NpuConfig) -> None:
        self._nests = _Nest.all_of(nodes)
        self._settings = settings
        self._config = config
        *self._firsts, self.positions = accumulate((n.positions for n in self._nests), initial=0)
        busy = [nest.positions * self._cycles(nest) for nest in self._nests]
        self._begins = list(accumulate(busy, initial=0))

    @property
    def cycles(self) -> int:
        """What the array needs for all positions."""
        return self._begins[-1]

    def cycles_before(self, positions: Sequence[int]) -> list[float]:
        """What it needs for those before each of these."""
        ends = [*self._firsts, self.positions]
        return np.interp(positions, ends, self._begins).tolist()

    def positions_at(self, cycles: Sequence[float]) -> list[int]:
        """Where the array is after so many cycles."""
        ends = [*self._firsts, self.positions]
        return np.interp(cycles, self._begins, ends).astype(int).tolist()

    def cut(self, first: int, end: int) -> tuple[Node, ...]:
        """The nodes of the positions from ``first`` to ``end``."""
        nodes: tuple[Node, ...] = ()
        for start, nest in zip(self._firsts, self._nests, strict=True):
            low, high = max(first - start, 0), min(end - start, nest.positions)
            if low < high:
                nodes += nest.cut(low, high)
        return nodes

    def touched(self, last: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """What is touched, piece by piece: rows, and for each of them the first position at which
        that is (or the ``last``)."""
        for start, nest in zip(self._firsts, self._nests, strict=True):
            for command, inner in leaves(nest.inside):
                for access in accesses(command, self._settings, self._config):
                    yield _touches(access, nest, inner, start, last)

    @staticmethod
    def _cycles(nest: _Nest) -> int:
        """Of the steps at one position."""
        total = 0
        for command, loops in leaves(nest.inside):
            plain = without_rows(command)
            if isinstance(plain, COMPUTES):
                total += plain.a_rows * prod(extent for _, extent in loops)
        return total


def _touches(
    access: Access,
    nest: _Nest,
    inner: tuple[tuple[int, int], ...],
    start: int,
    last: bool,
) -> tuple[np.ndarray, np.ndarray]:
    rows = starts(access, (*nest.loops, *inner))
    positions = np.full((1,) * len(nest.loops), start, dtype=np.int64)
    for axis, (loop_id, extent) in enumerate(nest.loops):
        if loop_id in access.steps:
            shape = [1] * len(nest.loops)
            shape[axis] = extent
            steps = np.arange(extent, dtype=np.int64) * nest.sizes[axis + 1]
            positions = positions + steps.reshape(shape)
        elif last:
            positions = positions + (extent - 1) * nest.sizes[axis + 1]
    positions = positions.reshape(positions.shape + (1,) * len(inner))
    rows = rows[..., None] + access.offsets
    positions = np.broadcast_to(positions[..., None], rows.shape)
    return rows.ravel(), positions.ravel()
