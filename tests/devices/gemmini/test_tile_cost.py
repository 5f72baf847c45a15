"""What tiles are said to take, against the cycles of their programs."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.s_tir import Schedule

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import preset
from npu_target.device_api import program_cycles
from npu_target.schedule_rules.tilings import Tiling, mac_tilings
from npu_target.topi import Add, Conv2d, Matmul
from npu_target.topi.definition import definition

CONFIG = preset("gemmini-16x16")
NEAR = 120
LOOKED_AT = 24
FIRST = 3


@pytest.mark.parametrize(
    "operator",
    [
        # Rows that lie across lines: both operands' loads, and stores that have lines read.
        Matmul(12, 64, 64, 197, bias=False),
        # One tile: its array waits for the inputs, and for a reduction's last weights.
        Conv2d(1, 1, 49, 960, 160, 1, 1),
        # So few steps that loads of what stays are most of it.
        Matmul(1, 384, 80, 16, bias=False),
        # Blocks with inputs of their own, loaded with those of the other blocks where they stay.
        Add(3136, 64, CONFIG.dim),
        Conv2d(1, 28, 28, 128, 256, 3, 3, (2, 2), (1, 1, 1, 1)),
    ],
    ids=lambda operator: operator.name,
)
def test_one_of_the_three_that_promise_most_is_within_5_percent_of_the_best(operator):
    schedule = Schedule(definition(operator, CONFIG), seed=1)
    tilings = mac_tilings(schedule, operator, operator.mac_shape(CONFIG), CONFIG)
    by_estimate = [int(i) for i in np.argsort(tilings.estimates, kind="stable")]
    others = by_estimate[FIRST:NEAR]
    first = _least_cycles(schedule, operator, [tilings[i] for i in by_estimate[:FIRST]])
    spread = others[:: max(1, len(others) // (LOOKED_AT - FIRST))]
    assert first <= 1.05 * _least_cycles(schedule, operator, [tilings[i] for i in spread])


def _least_cycles(schedule: Schedule, operator, tilings: list[Tiling]) -> float:
    found = []
    for tiling in tilings:
        candidate = schedule.copy()
        tiling.with_structure(packed=bool(operator.layout_free)).apply(candidate, CONFIG)
        try:
            program = build_program(candidate.mod["main"], CONFIG, operator.name)
        except CodegenError:
            continue
        found.append(program_cycles(program.to_bytes()))
    return min(found)
