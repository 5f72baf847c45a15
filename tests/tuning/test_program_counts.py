from __future__ import annotations

import numpy as np
import pytest

from npu_target.codegen_tir import build_program
from npu_target.config import NpuConfig
from npu_target.device_api import expand_program
from npu_target.isa import decode
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Add, Conv2d, Matmul
from npu_target.tuning.dump import argument_addresses
from npu_target.tuning.program_counts import _COUNTS, program_counts

CONFIG = NpuConfig.preset("gemmini-16x16")


@pytest.mark.parametrize(
    "operator",
    [
        Matmul(1, 64, 128, 64),
        Conv2d(1, 16, 16, 32, 32, 3, 3, (1, 1), (1, 1, 1, 1)),
        Add(64, 64, 0.5, 0.25, 1.5),
    ],
    ids=lambda operator: operator.name,
)
def test_the_counts_are_those_of_the_expanded_stream(operator):
    program = build_program(default_schedule(operator, CONFIG).mod["main"], CONFIG, operator.name)
    stream = expand_program(program.to_bytes(), list(argument_addresses(program).values()))
    words = np.frombuffer(stream, "<u8").reshape(-1, 3)
    commands = [decode(*map(int, triple)) for triple in words]
    counts = dict(zip(_COUNTS, program_counts(program), strict=True))
    kinds = [type(command).__name__ for command in commands]
    # Boundary tiles may or may not run: the count takes them as run once.
    assert counts["commands"] == pytest.approx(len(commands), rel=0.1)
    assert counts["computes"] == pytest.approx(sum(k.startswith("Compute") for k in kinds), rel=0.1)
    assert counts["preloads"] == pytest.approx(kinds.count("Preload"), rel=0.1)
    loads = [c for c, kind in zip(commands, kinds, strict=True) if kind.startswith("Mvin")]
    assert counts["loads"] == pytest.approx(len(loads), rel=0.1)
    assert counts["loaded_elements"] == pytest.approx(sum(c.rows * c.cols for c in loads), rel=0.1)
    stores = [c for c, kind in zip(commands, kinds, strict=True) if kind == "Mvout"]
    assert counts["stored_elements"] == pytest.approx(sum(c.rows * c.cols for c in stores), rel=0.1)
