"""What a program asks of the host, estimated."""

from __future__ import annotations

import pytest
from program_streams import command, program

from npu_target.codegen_tir import build_program
from npu_target.device_api import host_cost
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import COMMANDS, Preload
from npu_target.program import (
    Command,
    Loop,
    Operand,
    const,
    eq,
    floor_mod,
    le,
    logical_and,
    lt,
    var,
)
from npu_target.rewrite.cost import rough_cost, work_of
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Add, Conv2d, Matmul, MaxPool2d

CONFIG = GemminiConfig()
TILE, ROW = var(1), var(2)
LOADS = tuple([command(16 * ROW + 1024 * k, 256 * ROW + 64 * TILE) for k in range(3)])


def test_additions_and_branches_are_counted() -> None:
    body = (Loop(1, const(50), (Loop(2, const(7), LOADS),)),)
    found = work_of(body, COMMANDS, CONFIG.host_registers)
    assert found.commands == 50 * 7 * 3
    cost = host_cost(program(*body).to_bytes())
    assert found.instructions == pytest.approx(cost.instructions, rel=0.02)
    assert found.loop_bytes == pytest.approx(cost.loop_bytes, rel=0.1)


@pytest.mark.parametrize(
    ("condition", "met"),
    [(le(ROW, 2), 3), (lt(ROW, 2), 2), (le(5, ROW), 2), (lt(5, ROW), 1), (eq(ROW, 4), 1),
     (le(0, ROW), 7), (lt(9, ROW), 0), (le(floor_mod(ROW, 3), 0), 3.5),
     (logical_and(le(ROW, 2), eq(TILE, 1)), 3), (logical_and(ROW, le(ROW, 2)), 3)],
)  # fmt: skip
def test_conditions_are_met_as_often_as_they_look_to_be(condition, met) -> None:
    body = (Loop(1, const(1), (Loop(2, const(7), (Loop(0, condition, (command(1),)),)),)),)
    assert work_of(body, COMMANDS, CONFIG.host_registers).commands == pytest.approx(met)


def test_what_a_loop_asks_is_told_by_loop() -> None:
    """Its conditions, and operations on its variable."""
    asked = Loop(0, le(ROW, 2), (command(16 * ROW),))
    general = command(floor_mod(TILE, 7) * 16)
    step = Command(Preload.funct, Operand.of(16 * ROW), Operand())
    body = (Loop(1, const(50), (general, Loop(2, const(7), (asked, step)))),)
    work = work_of(body, COMMANDS, 26)
    parts = {part.loop.loop_id: part for part in work.parts() if part.is_loop}
    assert parts[2].asked == 350
    assert parts[1].asked == 100 + 50 * 0 + 50  # a remainder; a product and a sum
    assert parts[2].has_steps
    assert parts[2].size == 3


def test_few_registers_take_more_instructions() -> None:
    body = (Loop(1, const(50), tuple([command(16 * k, 64 * TILE * k) for k in range(9)])),)
    many, few = (work_of(body, COMMANDS, registers) for registers in (40, 10))
    assert not many.stored
    assert few.stored > 50
    assert few.instructions > many.instructions


@pytest.mark.parametrize(
    "operator",
    [Conv2d(1, 28, 28, 64, 64, 3, 3, pad=(1, 1, 1, 1)), Conv2d(1, 56, 56, 32, 32, 1, 1),
     Matmul(1, 128, 128, 128), Add(56 * 56, 32, CONFIG.dim), MaxPool2d(1, 28, 28, 32, 3, 2)],
    ids=lambda operator: operator.name,
)  # fmt: skip
def test_it_is_near_to_what_the_simulator_charges(operator) -> None:
    func = default_schedule(operator, CONFIG).mod["main"]
    found = build_program(func, CONFIG, operator.name)
    cost = host_cost(found.to_bytes())
    work = work_of(found.body, COMMANDS, CONFIG.host_registers)
    assert work.commands == pytest.approx(cost.commands, rel=0.1)
    assert work.instructions == pytest.approx(cost.instructions, rel=0.1)
    commands, instructions = rough_cost(found.body)
    assert instructions / commands == pytest.approx(cost.instructions_per_command, rel=0.35)
