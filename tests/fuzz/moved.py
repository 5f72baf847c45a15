"""Schedules of operators, moved on at random: splits, orders, places and pipelines of any loop.

They begin with what a template or a rule makes, and go on as someone might who changes it by hand.
A move that TVM refuses is left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.s_tir import Schedule

_STAGE, _ORDER = "software_pipeline_stage", "software_pipeline_order"
_MOST_UNROLLED = 16


class _Block(NamedTuple):
    """A block of the schedule, and the loops around it."""

    name: str
    block: Any
    loops: list[Any]


class Moved:
    """A schedule that goes on from a module's; `made` says what was done."""

    def __init__(self, mod: tvm.IRModule, seed: int) -> None:
        self.draw = random.Random(seed)
        self.mod = mod
        self.made: list[str] = []
        self.sch = Schedule(mod)

    def move(self) -> None:
        """Make one move, or none if TVM refuses it."""
        self.sch = Schedule(self.mod)
        move = self.draw.choice(_MOVES)
        try:
            text = move(self, self.draw.choice(self.blocks()))
        except (tvm.s_tir.schedule.ScheduleError, tvm.error.InternalError, ValueError, TypeError):
            return
        if text is not None:
            self.mod = self.sch.mod
            self.made.append(text)

    def blocks(self) -> list[_Block]:
        """The blocks in loops."""
        names: list[str] = []

        def visit(block: s_tir.SBlock) -> None:
            names.append(str(block.name_hint))

        tvm_ffi.structural_walk(self.sch.mod["main"].body, (s_tir.SBlock, visit))
        found = []
        for name in set(names) - {"root"}:
            if names.count(name) == 1:
                block = self.sch.get_sblock(name)
                found.append(_Block(name, block, self.sch.get_loops(block)))
        return sorted(block for block in found if block.loops)

    def split(self, of: _Block) -> str:
        """A loop in two, mostly by a divisor."""
        loop = self.draw.choice(of.loops)
        extent = int(self.sch.get(loop).extent)
        divisors = [n for n in range(1, extent + 1) if extent % n == 0]
        factor = self.draw.choice(divisors if self.draw.random() < 0.7 else range(1, extent + 1))
        self.sch.split(loop, [None, factor], preserve_unit_iters=self.draw.random() < 0.5)
        return f"split {of.name} {extent} by {factor}"

    def reorder(self, of: _Block) -> str:
        """Two loops changed over."""
        one, other = self.draw.choices(range(len(of.loops)), k=2)
        one, other = min(one, other), max(one, other)
        self.sch.reorder(of.loops[other], of.loops[one])
        return f"reorder {of.name} {other} before {one}"

    def fuse(self, of: _Block) -> str:
        """A loop and the one in it."""
        at = self.draw.randrange(len(of.loops) - 1)
        self.sch.fuse(*of.loops[at : at + 2])
        return f"fuse {of.name} {at}"

    def unroll(self, of: _Block) -> str | None:
        """A short loop written out."""
        loop = self.draw.choice(of.loops)
        if int(self.sch.get(loop).extent) > _MOST_UNROLLED:
            return None
        self.sch.unroll(loop)
        return f"unroll {of.name} {self.sch.get(loop).loop_var.name}"

    def unit(self, of: _Block) -> str:
        """A loop of one iteration more."""
        self.sch.add_unit_loop(of.block)
        return f"unit {of.name}"

    def place(self, of: _Block) -> str:
        """A block into another one's loop, before it or behind it."""
        other = self.draw.choice(self.blocks())
        at = self.draw.randrange(len(other.loops))
        units = self.draw.random() < 0.5
        if self.draw.random() < 0.7:
            self.sch.compute_at(of.block, other.loops[at], preserve_unit_loops=units)
            return f"{of.name} at {at} of {other.name}"
        self.sch.reverse_compute_at(of.block, other.loops[at], preserve_unit_loops=units)
        return f"{of.name} behind at {at} of {other.name}"

    def pipeline(self, of: _Block) -> str | None:
        """Other stages of a loop of several statements, or none where it had some."""
        sch, draw = self.sch, self.draw
        loops = [x for x in of.loops if isinstance(sch.get(x).body, tirx.SeqStmt)]
        if not loops:
            return None
        loop = draw.choice(loops)
        before = sch.get(loop)
        if _STAGE in before.annotations:
            sch.unannotate(loop, _STAGE)
            sch.unannotate(loop, _ORDER)
            if draw.random() < 0.3:
                return f"no pipeline {before.loop_var.name}"
        count = len(before.body.seq)
        last = min(int(before.extent), draw.choice([1, 1, 1, 2]))
        cuts = [draw.randint(0, count) for _ in range(last)]
        stages = [sum(at >= cut for cut in cuts) for at in range(count)]
        placed = list(range(count))
        if draw.random() < 0.4:
            by_stage = draw.sample(range(last + 1), last + 1)
            placed.sort(key=lambda at: by_stage[stages[at]])
        sch.annotate(loop, _STAGE, stages)
        sch.annotate(loop, _ORDER, [placed.index(at) for at in range(count)])
        return f"pipeline {before.loop_var.name} {stages} in order {placed}"


_MOVES: list[Callable[[Moved, _Block], str | None]] = [
    Moved.split,
    Moved.split,
    Moved.reorder,
    Moved.fuse,
    Moved.unroll,
    Moved.unit,
    Moved.place,
    Moved.place,
    Moved.pipeline,
    Moved.pipeline,
]
