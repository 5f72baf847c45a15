"""What a device is told of placed copies and steps: enough to make engines wait for each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest
from plain_programs import stream

from npu_target import topi
from npu_target.codegen.dependences import Touched, conflict
from npu_target.codegen.operations import Engine
from npu_target.codegen.placed import Placed, PlacedCopy, PlacedLoop, PlacedNodes, PlacedStep
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device.intrinsic import Access
from npu_target.devices.gemmini.emission import GemminiEmission
from npu_target.devices.gemmini.isa import COMMANDS, COMPUTES, Flush
from npu_target.passes.linear import Linear
from npu_target.program import Command, Operand
from npu_target.schedule_rules import default_schedule

CONFIG = preset("gemmini-8x8")
OPERATORS = [
    topi.Matmul(1, 40, 24, 20),
    topi.Matmul(1, 40, 24, 20, True),
    topi.Conv2d(1, 9, 9, 10, 12, 3, 3, (1, 1), (1, 1, 1, 1)),
    topi.Conv2d(1, 13, 7, 17, 9, 2, 3, (2, 1), (0, 1, 1, 0), True, True),
]
Values = Mapping[int, Linear]


class Turn(NamedTuple):
    """A command of a copy, or a step, in one iteration of all loops around."""

    engine: Engine
    touched: list[Touched]
    reads: set[tuple[str, int]]
    writes: set[tuple[str, int]]


def turns(placed: Sequence[Placed], values: Values) -> Iterator[Turn]:
    for one in placed:
        if isinstance(one, PlacedLoop):
            assert one.loop.extent > 1
            for index in range(one.loop.extent):
                yield from turns(one.body, {**values, one.loop.loop_id: Linear(index)})
        elif isinstance(one, PlacedCopy):
            yield from copy_turns(one, values)
        elif isinstance(one, PlacedStep):
            yield step_turn(one, values)
        else:
            assert isinstance(one, PlacedNodes)


def copy_turns(copy: PlacedCopy, values: Values) -> Iterator[Turn]:
    kind, own = copy.operation.kind, copy.operation.loops
    for indices in itertools.product(*(range(loop.extent) for loop in own)):
        ids = [loop.loop_id for loop in own]
        at = {**values, **dict(zip(ids, map(Linear, indices), strict=True))}
        operation = copy.operation.substitute(at)
        if not all(
            all(form.const >= 0 for form in guard.forms) != guard.negated
            for guard in operation.guards
        ):
            continue
        row, n_rows = operation.row.const, operation.rows.const
        blocks = range(-(-operation.columns.const // kind.block_columns))
        rows = {
            (kind.memory.scope, row + block * kind.block_rows + i)
            for block in blocks
            for i in range(n_rows)
        }
        reads, writes = (set(), rows) if kind.is_load else (rows, set())
        yield Turn(copy.engine, at_iteration(copy.touched, values), reads, writes)


def step_turn(placed: PlacedStep, values: Values) -> Turn:
    step = placed.step.substitute(values)
    first = placed.row.substitute(values).const
    reads, writes = set(), set()
    for operand, form, tile in zip(step.operands, step.first_rows, placed.touched, strict=True):
        count = placed.rows if operand.follows else operand.rows
        start = form.const + (first * operand.row_step if operand.follows else 0)
        rows = {(tile.tile.scope, start + i * operand.row_step) for i in range(count)}
        reads |= rows
        if operand.access is not Access.READ:
            writes |= rows
    return Turn(placed.engine, at_iteration(placed.touched, values), reads, writes)


def at_iteration(touched: Sequence[Touched], values: Values) -> list[Touched]:
    return [one._replace(version=one.version.substitute(values)) for one in touched]


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_what_shares_rows_conflicts(operator, monkeypatch):
    """Of two engines that touch a row after one another, of which one writes it, the tiles tell."""
    seen: list[Sequence[Placed]] = []

    def synchronized(self, placed):
        seen.append(placed)
        return placed

    monkeypatch.setattr(GemminiEmission, "synchronized", synchronized)
    build_program(default_schedule(operator, CONFIG).mod["main"], CONFIG, operator.name)
    found = [turn for placed in seen for turn in turns(placed, {})]
    touched: dict[tuple[str, int], list[int]] = {}
    for index, turn in enumerate(found):
        for row in turn.reads | turn.writes:
            touched.setdefault(row, []).append(index)
    pairs = 0
    for row, users in touched.items():
        for one, other in itertools.pairwise(users):
            first, second = found[one], found[other]
            if first.engine is second.engine or row not in first.writes | second.writes:
                continue
            pairs += 1
            assert conflict(first.touched, second.touched), f"row {row}: {first}, {second}"
    assert pairs > 10


@pytest.mark.parametrize("operator", OPERATORS[:3], ids=lambda operator: operator.name)
def test_a_device_adds_what_it_needs(operator, monkeypatch):
    """What `synchronized` gives is emitted, in its order."""
    func = default_schedule(operator, CONFIG).mod["main"]
    fence = Flush().encode()
    between = PlacedNodes((Command(fence[0], Operand.of(fence[1]), Operand.of(fence[2])),))

    def fenced(self, placed: Sequence[Placed]) -> list[Placed]:
        found: list[Placed] = []
        for one in placed:
            if isinstance(one, PlacedLoop):
                one = one._replace(body=tuple(fenced(self, one.body)))
            found += [one, between] if isinstance(one, PlacedStep) else [one]
        return found

    plain = build_program(func, CONFIG, operator.name)
    monkeypatch.setattr(GemminiEmission, "synchronized", fenced)
    program = build_program(func, CONFIG, operator.name)
    before, after = stream(plain), stream(program)
    computes = [index for index, words in enumerate(after) if is_compute(words)]
    assert computes and all(after[index + 1] == fence for index in computes)
    assert [words for words in after if words != fence] == before


def is_compute(words: tuple[int, int, int]) -> bool:
    return isinstance(COMMANDS.decode(*words), COMPUTES)
