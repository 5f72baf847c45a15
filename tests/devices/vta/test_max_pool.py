"""Max pools on a VTA, which its ALU takes."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.s_tir import Schedule

from npu_target.codegen_tir import build_program
from npu_target.conformance.runs import default_program, expected, inputs_of, launched
from npu_target.device import presets
from npu_target.devices.vta import isa
from npu_target.topi import MaxPool2d
from npu_target.topi.fitting import fitted

CONFIG = presets()["vta-1x16x16"]
D = CONFIG.dim


@pytest.mark.parametrize(
    "operator",
    [
        MaxPool2d(1, 7, 9, D, 3, 2, (1, 1, 1, 1), dim=D),
        MaxPool2d(2, 6, 6, 3 * D, 2, 2, dim=D),
        MaxPool2d(1, 9, 5, D, 5, 1, (2, 2, 2, 2), dim=D),
        # One row only: commands that follow each other change the same row.
        MaxPool2d(1, 3, 3, D, 3, 3, dim=D),
        # Few channels, which the host pads.
        MaxPool2d(1, 8, 8, 3, 2, 2, dim=D),
    ],
    ids=lambda operator: operator.name,
)
def test_equals_numpy(operator):
    """Races, and sums that nothing has computed, are refused by the simulator."""
    operator = fitted(operator, CONFIG)
    program, mod = default_program(operator, CONFIG)
    result = launched(program, inputs_of(operator, CONFIG, mod))
    np.testing.assert_array_equal(result, expected(operator, CONFIG))


def test_a_tile_takes_one_alu_command_for_each_place_of_a_window():
    operator = MaxPool2d(1, 8, 8, D, 2, 2, dim=D)
    schedule = Schedule(operator.prim_func(CONFIG))
    tiles = {"n": [1, 1], "cb": [1, 1], "y": [1, 4], "xx": [1, 1]}
    operator.templates(CONFIG)[1](schedule, decisions=tiles)
    program = build_program(schedule.mod["main"], CONFIG, operator.name)
    places = {place.name: (i + 1) << 20 for i, place in enumerate(program.places)}
    stream = [isa.COMMANDS.decode(*words) for words in program.expand(places)]
    maxima = [c for c in stream if isinstance(c, isa.Alu) and c.op == isa.MAX]
    assert [c.iter_in for c in maxima if not c.use_immediate] == [16] * 4
