"""A kind of device in a package of its own, simulated in Python, with a set of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from my_npu.kind import KIND
from my_npu.simulator import simulate

from npu_target.calibrate.errors import CalibrationError
from npu_target.calibrate.experiments import experiments_of, set_of
from npu_target.calibrate.measurements import Measurements
from npu_target.calibrate.result import calibrate
from npu_target.codegen_tir import build_program
from npu_target.device import kinds, preset, registry
from npu_target.device.calibration import CalibrationSet
from npu_target.device_api import program_cycles
from npu_target.device_api.simulators import register_simulator
from npu_target.program import Program
from npu_target.schedule_rules import default_schedule
from npu_target.topi import GlobalAvgPool, Matmul, Operator

(DEVICE, *_) = KIND.presets


class MatmulSet(CalibrationSet):
    fields = ("memory_latency_cycles", "host_cycles_per_command")

    def programs(self, config: Any) -> Mapping[str, Sequence[Program]]:
        return {"matmuls": [_program(Matmul(1, m, k, 16, scale=2**-6)) for m, k in SIZES]}

    def operators(self, config: Any) -> Sequence[Operator]:
        return [GlobalAvgPool(1, 4, 4, 32, dim=config.dim, scale=2**-4)]


SIZES = ((1, 16), (1, 64), (32, 16), (32, 48), (64, 64))
SET = MatmulSet()


def _program(operator: Operator) -> Program:
    return build_program(default_schedule(operator, DEVICE).mod["main"], DEVICE, operator.name)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = replace(KIND, calibration_at=f"{__name__}:SET")
    kind.__dict__["calibration"] = SET
    found = MappingProxyType({**kinds(), KIND.name: kind})
    monkeypatch.setattr(registry, "kinds", lambda: found)
    register_simulator(KIND.name, simulate)


def test_it_finds_what_is_hidden(installed: None) -> None:
    experiments = experiments_of(DEVICE)
    hidden = DEVICE.replace(name="hidden", memory_latency_cycles=33)
    cycles = [[program_cycles(one.program.to_bytes(), 0, hidden) or 0] for one in experiments]
    measured = Measurements("by hand", experiments, cycles)
    result = calibrate(measured, DEVICE, SET.fields)
    assert result.config == DEVICE.replace(memory_latency_cycles=33)
    (layer,) = [one for one in result.compared if one.experiment.is_held_out]
    assert layer.error_after == 0 != layer.error_before


def test_a_kind_without_a_set_says_so() -> None:
    with pytest.raises(CalibrationError, match=r"kind vta have no set.*calibration_at"):
        set_of(preset("vta-1x16x16"))
