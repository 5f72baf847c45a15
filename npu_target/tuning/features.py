"""What the cost model sees of a candidate: decisions, tiles, and the work they make."""

from __future__ import annotations

import math

import numpy as np
from tvm import tirx
from tvm.s_tir import SBlockRealize, Schedule
from tvm.s_tir import meta_schedule as ms

from ..program import Program
from .program_work import ProgramWork
from .workload import operator_of

# Decisions of a trace, in its order; templates and rules make fewer.
_DECISIONS = 32
# Blocks of a scheduled function: how often each is entered, in order of the text.
_BLOCKS = 12
# Tiles: buffers in the device's memories.
_TILES = 4
_ARGUMENTS = 4


def features_of(
    context: ms.TuneContext, candidate: ms.MeasureCandidate, program: Program
) -> np.ndarray:
    """A row of fixed length: logarithms of the operator's sizes, of the sampled tile sizes and
    choices, of how often each block is entered, of the tiles in the device's memories, and of
    what `program`, which the candidate compiles to, does how often."""
    schedule = candidate.sch
    func = schedule.mod["main"]
    return np.concatenate(
        [
            _logarithms([_elements(param) for param in context.mod["main"].params], _ARGUMENTS),
            _logarithms(_decisions(schedule), _DECISIONS),
            *_loops_and_tiles(func),
            ProgramWork.of(program, operator_of(context.mod)).features(),
        ]
    )


def _decisions(schedule: Schedule) -> list[float]:
    values: list[float] = []
    for decision in schedule.trace.decisions.values():
        parts = [decision] if isinstance(decision, (int, tirx.IntImm)) else decision
        values += [abs(int(part)) for part in parts if part is not None]
    return values


def _loops_and_tiles(func: tirx.PrimFunc) -> tuple[np.ndarray, np.ndarray]:
    """How often each block is entered, and the elements of each buffer that a block allocates."""
    times_entered: list[float] = []
    tiles: list[float] = []

    def walk(statement: tirx.Stmt, times: float) -> None:
        if isinstance(statement, tirx.For):
            extent = statement.extent
            walk(statement.body, times * (int(extent) if isinstance(extent, tirx.IntImm) else 1))
        elif isinstance(statement, tirx.SeqStmt):
            for part in statement.seq:
                walk(part, times)
        elif isinstance(statement, SBlockRealize):
            times_entered.append(times)
            tiles.extend(_elements(buffer) for buffer in statement.block.alloc_buffers)
            walk(statement.block.body, times)

    walk(func.body, 1.0)
    return _logarithms(times_entered, _BLOCKS), _logarithms(tiles, _TILES)


def _elements(buffer: tirx.Var) -> float:
    return float(math.prod(int(extent) for extent in buffer.shape))


def _logarithms(values: list[float], length: int) -> np.ndarray:
    """Of the first `length` values, padded with 0."""
    return np.log2(1 + np.array([*values, *[0.0] * length][:length]))
