"""The first inputs in two places, by turns."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_runs import kernel_arguments, random_arguments, run_program
from program_evaluator import expand
from tvm.s_tir import Schedule

from npu_target.codegen.two_places import InputPlaces, _Access, _is_in_order
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api import last_stats
from npu_target.devices.gemmini import isa
from npu_target.packing import packed
from npu_target.passes.packings import packings
from npu_target.program import Program
from npu_target.topi import Matmul
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")
BANK_ROWS = CONFIG.memories.inputs.bank_rows


def product(*, kept: bool = False, k: int = 512) -> tuple[Matmul, Schedule]:
    """Tiles of 8 by 8 blocks of sums, of two parts of the reduction each, or with inputs that stay
    for two tiles."""
    operator = Matmul(batch=1, m=128, k=k, n=256, bias=False)
    schedule = Schedule(operator.kernel().prim_func(CONFIG))
    structure = MacStructure(
        "inputs_kept", kept, split_depth=not kept, wide=True, packed=True, ends=True
    )
    parts = 1 if kept else 2
    sizes = {"blocks": [2, 8], "steps": [1, 8], "depth": [parts, -(-k // 16) // parts]}
    schedule_mac(schedule, structure, sizes)
    return operator, schedule


def program_of(schedule: Schedule) -> Program:
    return build_program(schedule.mod["main"], CONFIG, "product")


def in_one_place(monkeypatch: pytest.MonkeyPatch, schedule: Schedule) -> Program:
    with monkeypatch.context() as patch:
        patch.setattr(InputPlaces, "in_two_places", lambda self, placed, *_: placed)
        return program_of(schedule)


def banks_read(program: Program) -> list[int]:
    """Of the inputs, each as long as steps read it."""
    addresses = {arg.name: index << 32 for index, arg in enumerate(program.args)}
    commands = [isa.COMMANDS.decode(*words) for words in expand(program, addresses)]
    computes = [command for command in commands if isinstance(command, isa.COMPUTES)]
    return [bank for bank, _ in groupby(compute.a.row // BANK_ROWS for compute in computes)]


def run(operator: Matmul, schedule: Schedule, program: Program) -> tuple[np.ndarray, int]:
    """The output, and the cycles in which what arrived kept steps waiting."""
    arrays = random_arguments(operator, 1)
    names = [arg.name for arg in operator.args[:-1]]
    inputs = dict(zip(names, kernel_arguments(operator, arrays), strict=True))
    laid_out = packed(inputs, packings(schedule.mod["main"], CONFIG))
    output = run_program(program, [laid_out[name] for name in names])
    stats = last_stats()
    assert stats is not None
    return output, stats.named["bank_conflict_cycles"]


def test_parts_are_read_and_loaded_in_banks_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, schedule = product()
    plain = in_one_place(monkeypatch, schedule)
    program = program_of(schedule)
    # A tile of 16 blocks of the reduction is loaded in 4 parts; the other tiles are as they were.
    assert banks_read(plain) == [0, 1, 0, 1]
    assert banks_read(program) == [1, 0, 1, 0, 1, 0, 1]
    before, conflicts_before = run(operator, schedule, plain)
    after, conflicts = run(operator, schedule, program)
    np.testing.assert_array_equal(before, after)
    assert conflicts < 0.8 * conflicts_before


@pytest.mark.parametrize("options", [{"kept": True}, {"k": 16 * 2 * 5}])
def test_what_stays_or_has_no_parts_of_one_size_stays_where_it_is(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    operator, schedule = product(**options)
    plain = in_one_place(monkeypatch, schedule)
    program = program_of(schedule)
    assert program.to_bytes() == plain.to_bytes()
    run(operator, schedule, program)


@given(st.lists(st.builds(_Access, st.booleans(), st.integers(0, 5)), max_size=12))
def test_parts_are_in_order_where_each_read_finds_its_own_and_none_comes_back(accesses):
    """Two places, to which parts go by turns."""
    places: list[int | None] = [None, None]
    is_in_order = True
    for is_load, part in accesses:
        there = places[part % 2]
        if is_load:
            is_in_order &= there is None or there <= part
            places[part % 2] = part
        else:
            is_in_order &= there == part
    assert _is_in_order(accesses) == is_in_order
