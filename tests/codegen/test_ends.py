"""The first and the last steps, in orders of their own."""

from __future__ import annotations

from collections import Counter

import pytest
from kernel_runs import check_schedule
from program_evaluator import expand
from tvm.s_tir import Schedule

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api import program_cycles
from npu_target.devices.gemmini import isa
from npu_target.program import Program
from npu_target.topi import Matmul
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")


def product(*, ends: bool) -> Program:
    """Two tiles of products of which memory takes about as long to load as the array to add up."""
    operator = Matmul(batch=1, m=128, k=512, n=128, bias=False)
    schedule = Schedule(operator.prim_func(CONFIG))
    structure = MacStructure("inputs_kept", split_depth=True, wide=True, packed=True, ends=ends)
    schedule_mac(schedule, structure, {"blocks": [1, 8], "steps": [1, 8], "depth": [2, 16]})
    return build_program(schedule.mod["main"], CONFIG, operator.name)


@pytest.mark.parametrize("k", [16 * 21, 16 * 21 - 3])
def test_no_step_is_lost_where_loads_do_not_come_in_parts_of_one_size(k: int) -> None:
    """Loads are of 4 blocks of the reduction each, of which there are 21."""
    operator = Matmul(batch=1, m=128, k=k, n=128, bias=False)
    schedule = Schedule(operator.kernel().prim_func(CONFIG))
    structure = MacStructure("inputs_kept", wide=True, packed=True, ends=True)
    schedule_mac(schedule, structure, {"blocks": [1, 8], "steps": [1, 8], "depth": [1, 21]})
    check_schedule(operator, schedule, CONFIG)


def commands_of(program: Program) -> list[object]:
    addresses = {arg.name: index << 32 for index, arg in enumerate(program.args)}
    return [isa.COMMANDS.decode(*words) for words in expand(program, addresses)]


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [product(ends=ends) for ends in (False, True)]


def test_steps_in_other_orders_copy_the_same_and_take_less_time(programs: list[Program]) -> None:
    plain, ends = (Counter(map(type, commands_of(program))) for program in programs)
    for kinds in (isa.LOADS, (isa.Mvout,), isa.COMPUTES):
        assert sum(plain[kind] for kind in kinds) == sum(ends[kind] for kind in kinds), kinds
    before, after = (program_cycles(program.to_bytes()) for program in programs)
    assert before is not None and after is not None and after < 0.97 * before


def test_steps_begin_with_the_first_part_of_each_operand(programs: list[Program]) -> None:
    """In outer-product order, as many steps as sums need the first two loads of A and B only."""
    loads = []
    for program in programs:
        commands = commands_of(program)
        computes = [i for i, command in enumerate(commands) if isinstance(command, isa.COMPUTES)]
        before = commands[: computes[63]]
        loads.append(sum(isinstance(command, isa.LOADS) for command in before))
    assert loads[1] < loads[0] / 2


def test_sums_are_stored_as_they_are_completed(programs: list[Program]) -> None:
    """In inner-product order half of the last block's steps have nothing to do with the last
    store but one."""
    behind = []
    for program in programs:
        commands = commands_of(program)
        computes = [i for i, command in enumerate(commands) if isinstance(command, isa.COMPUTES)]
        behind.append(sum(isinstance(x, isa.Mvout) for x in commands[computes[-64] :]))
    assert behind == [8, 4]
