"""The whole way through a command: ELFs on an emulated core, whose device is the simulated one."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import calibrate

from npu_target.calibrate import experiments
from npu_target.calibrate.experiments import Experiment
from npu_target.calibrate.measurements import Measurements
from npu_target.device import DeviceConfig
from npu_target.device_api import program_cycles
from npu_target.devices.gemmini.calibration import CALIBRATION


@pytest.mark.riscv
def test_programs_run_and_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program without arguments, one with an input alone, one with an output: their cycles are
    the simulator's, so there is nothing to explain."""

    def some(config: DeviceConfig, skipped: list[str]) -> list[Experiment]:
        groups = CALIBRATION.programs(config)
        return [Experiment(group, groups[group][-1]) for group in ("host", "DRAM", "results")]

    monkeypatch.setattr(experiments, "experiments_of", some)
    file = tmp_path / "m.json"
    arguments = ["--run-with", "qemu-riscv64 {elf} {input} {output}", "--elf-for", "emulated"]
    assert calibrate([*arguments, "--measurements", str(file)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "No field with another value explains more" in out
    measurements = Measurements.load(file)
    for experiment, (cycles,) in zip(measurements.experiments, measurements.cycles, strict=True):
        assert cycles == program_cycles(experiment.program.to_bytes())
