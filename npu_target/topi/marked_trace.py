"""Marks in a schedule's trace that the schedule itself does not get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Instruction, InstructionKind, LoopRV, SBlockRV, Trace


class MarkPlace:
    """A place in the trace of a schedule, at which a `MarkedTrace` has its marks: behind the first
    ``index`` instructions, of those that there are now. What follows them must not change which
    loops are around a block that is asked for."""

    def __init__(self, schedule: Schedule, index: int) -> None:
        trace = schedule.trace
        instructions = list(trace.insts)
        self.before, self.after = instructions[:index], instructions[index:]
        self.decisions = trace.decisions
        self._schedule = schedule
        self._n_loops: dict[SBlockRV, int] = {}

    def get(self, block: SBlockRV) -> Any:
        """The block in the schedule."""
        return self._schedule.get(block)

    def n_loops(self, block: SBlockRV) -> int:
        """How many loops are around a block."""
        if block not in self._n_loops:
            self._n_loops[block] = len(self._schedule.get_loops(block))
        return self._n_loops[block]


class MarkedTrace:
    """Takes the marks that a schedule is given at a place, as that does, and only writes them down:
    TVM takes a thousand times as long to put one into the function."""

    def __init__(self, place: MarkPlace) -> None:
        self._place = place
        self._marks: list[Instruction] = []

    @property
    def trace(self) -> Trace:
        """The schedule's trace with the marks, which gives the schedule that they are in."""
        place = self._place
        return Trace([*place.before, *self._marks, *place.after], place.decisions)

    def get(self, block: SBlockRV) -> Any:
        """The block, as it is without the marks."""
        return self._place.get(block)

    def get_loops(self, block: SBlockRV) -> list[LoopRV]:
        """The loops around a block, from the outside in."""
        loops = [LoopRV() for _ in range(self._place.n_loops(block))]
        self._add("GetLoops", [block], [], loops)
        return loops

    def annotate(self, loop: LoopRV, key: str, value: Any) -> None:
        """Mark a loop."""
        self._add("Annotate", [loop, value], [key], [])

    def _add(
        self,
        kind: str,
        inputs: Sequence[Any],
        attributes: Sequence[Any],
        outputs: Sequence[LoopRV],
    ) -> None:
        instruction = Instruction(InstructionKind.get(kind), inputs, attributes, outputs)
        self._marks.append(instruction)
