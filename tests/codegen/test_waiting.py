"""What waits between two nests of steps."""

from __future__ import annotations

import pytest
from program_evaluator import expand
from tvm.s_tir import Schedule

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.devices.gemmini import isa
from npu_target.topi import Matmul
from npu_target.topi.mac_schedule import MacStructure, schedule_mac

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
