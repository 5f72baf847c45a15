"""Copies of a program one by one, with what they touch and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from . import expr
from .codegen_weave import estimate
from .config import NpuConfig
from .isa_encoding import CONFIG_FUNCT, WORD_MASK, LocalAddress
from .operand import Operand
from .program_nodes import Command, Loop, Node
from .program_rows import NotConstant, RowSettings, accesses, leaves

# More copies than this make a program long, and are a small part of its time.
_MOST_COPIES = 1024


@dataclass(frozen=True)
class SingleCopies:
    """Copies as single commands, in the order in which they are issued.

    rows : what each of them touches.
    cycles : about how long each keeps the copy engine.
    are_loads : bool, whether each writes those rows.
    """

    commands: list[Command]
    rows: list[np.ndarray]
    cycles: list[float]
    are_loads: np.ndarray

    @classmethod
    def of(cls, nodes: Iterable[Node], settings: RowSettings, config: NpuConfig) -> SingleCopies:
        """Those of loops.  Raises NotConstant, also where they are too many, or bring settings."""
        commands: list[Command] = []
        rows: list[np.ndarray] = []
        cycles: list[float] = []
        are_loads: list[bool] = []
        for command, loops in leaves(nodes):
            if command.funct == CONFIG_FUNCT:
                raise NotConstant
            (access,) = accesses(command, settings, config)
            number = prod([extent for _, extent in loops])
            if len(commands) + number > _MOST_COPIES:
                raise NotConstant
            if not access.steps.keys() <= {loop_id for loop_id, _ in loops}:
                raise NotConstant
            first = _one_by_one(command.rs1, loops)
            second = _one_by_one(command.rs2, loops)
            funct = command.funct
            commands += [Command(funct, rs1, rs2) for rs1, rs2 in zip(first, second, strict=True)]
            firsts = np.array(_along(access.start, access.steps, loops), dtype=np.int64)
            rows += list(firsts[:, None] + access.offsets)
            cycles += [estimate(command, config).cycles] * number
            are_loads += [access.writes] * number
        return cls(commands, rows, cycles, np.array(are_loads, dtype=bool))

    def __len__(self) -> int:
        return len(self.commands)

    def in_order(self, order: Sequence[int]) -> SingleCopies:
        """Some of them, in another order."""
        return SingleCopies(
            [self.commands[i] for i in order],
            [self.rows[i] for i in order],
            [self.cycles[i] for i in order],
            self.are_loads[list(order)],
        )

    def owners(self, n_rows: int, first: bool = False) -> tuple[np.ndarray, list[set[int]]]:
        """The last copy (or the ``first``) that touches each row, -1 for none, and for each copy
        those right before it that touch rows of its own."""
        owner = np.full(n_rows, -1, dtype=np.int64)
        before: list[set[int]] = [set() for _ in self.rows]
        if not self.rows:
            return owner, before
        rows = np.concatenate(self.rows)
        copies = np.repeat(np.arange(len(self)), [len(own) for own in self.rows])
        order = np.argsort(rows, kind="stable")
        rows, copies = rows[order], copies[order]
        same = rows[1:] == rows[:-1]
        ends = np.append(True, ~same) if first else np.append(~same, True)
        owner[rows[ends]] = copies[ends]
        pairs = copies[1:][same] * len(self) + copies[:-1][same]
        for pair in np.unique(pairs).tolist():
            index, other = divmod(pair, len(self))
            if index != other:
                before[index].add(other)
        return owner, before


def _one_by_one(operand: Operand, loops: tuple[tuple[int, int], ...]) -> list[Operand]:
    """An operand for every iteration of loops."""
    if operand.general:
        raise NotConstant
    steps, address = operand.steps, operand.address
    around = {loop_id for loop_id, _ in loops}
    left = tuple([step for step in steps if step[0] not in around])
    bases = _along(operand.base, dict(steps), loops)
    return [Operand(base & WORD_MASK, address, left) for base in bases]


def _along(start: int, steps: Mapping[int, int], loops: Iterable[tuple[int, int]]) -> list[int]:
    """What runs with these steps, for every iteration of loops."""
    values = [start]
    for loop_id, extent in loops:
        by = steps.get(loop_id, 0)
        if extent != 1:
            values = [value + by * i for value in values for i in range(extent)]
    return values


def rolled(commands: Sequence[Command], fresh: Callable[[], int]) -> tuple[Node, ...]:
    """Commands, in loops where their operands advance by the same amounts."""
    nodes: list[Node] = []
    first = 0
    while first < len(commands):
        end, by = first + 1, None
        while end < len(commands):
            advance = _advance(commands[end - 1], commands[end])
            if advance is None or (by is not None and advance != by):
                break
            end, by = end + 1, advance
        command = commands[first]
        if by is None:
            nodes.append(command)
        else:
            loop_id = fresh()
            rs1, rs2 = command.rs1.running(loop_id, by[0]), command.rs2.running(loop_id, by[1])
            body = (Command(command.funct, rs1, rs2),)
            nodes.append(Loop(loop_id, expr.const(end - first), body))
        first = end
    return tuple(nodes)


def _advance(one: Command, other: Command) -> tuple[int, int] | None:
    """By how much the words of a copy are more than another's; None for other copies, or sizes."""
    if one.funct != other.funct or not (
        one.rs1.runs_like(other.rs1) and one.rs2.runs_like(other.rs2)
    ):
        return None
    first, second = one.rs2.base, other.rs2.base
    if first >> LocalAddress.BITS != second >> LocalAddress.BITS:
        return None
    return other.rs1.base - one.rs1.base, second - first
