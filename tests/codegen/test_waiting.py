"""What waits between two nests of steps."""

from __future__ import annotations

from collections import Counter

import pytest
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


@pytest.mark.parametrize("wide", [False, True])
def test_stores_of_the_only_sums_go_between_the_next_steps(wide):
    """The last block of a tile is stored among the next tile's steps, before those that write it:
    all at once they would fill the store queue, and the steps behind them would not be issued."""
    product = Matmul(batch=1, m=256, k=128, n=128, bias=False)
    schedule = Schedule(product.prim_func(CONFIG))
    tiles = {"blocks": [1, 8], "steps": [4, 4], "depth": [2, 4]}
    schedule_mac(schedule, MacStructure(split_depth=True, wide=wide), tiles)
    program = build_program(schedule.mod["main"], CONFIG, product.name)
    addresses = {arg.name: index << 32 for index, arg in enumerate(program.args)}
    stream = [isa.COMMANDS.decode(*words) for words in expand(program, addresses)]
    last = max(i for i, command in enumerate(stream) if isinstance(command, isa.COMPUTES))
    together = most = 0
    for command in stream[:last]:
        if isinstance(command, isa.Mvout):
            together += 1
        elif isinstance(command, isa.COMPUTES):
            together = 0
        most = max(most, together)
    assert 0 < most <= CONFIG.st_queue_entries // 2


def kept_inputs(*, halved: bool) -> Program:
    """A product whose first tile loads all of the inputs, nearly as long as its steps take."""
    product = Matmul(batch=1, m=128, k=768, n=192, bias=True)
    schedule = Schedule(product.prim_func(CONFIG))
    structure = MacStructure(
        "inputs_kept", kept=True, step_order="kernel_first", two_sums=True, halved=halved
    )
    schedule_mac(schedule, structure, {"blocks": [4, 3], "steps": [1, 8]})
    return build_program(schedule.mod["main"], CONFIG, product.name)


def test_halves_of_inputs_come_by_turns_and_the_next_tile_is_left_to_itself():
    """Sums wait less for data that arrive in the bank that they read, and for memory."""
    streams, cycles = [], []
    for halved in (False, True):
        program = kept_inputs(halved=halved)
        addresses = {arg.name: index << 32 for index, arg in enumerate(program.args)}
        streams.append([isa.COMMANDS.decode(*words) for words in expand(program, addresses)])
        cycles.append(program_cycles(program.to_bytes()))
    plain, halves = (Counter(map(type, stream)) for stream in streams)
    for kinds in (isa.LOADS, (isa.Mvout,), isa.COMPUTES):
        assert sum(plain[kind] for kind in kinds) == sum(halves[kind] for kind in kinds), kinds
    assert cycles[1] < 0.98 * cycles[0]
