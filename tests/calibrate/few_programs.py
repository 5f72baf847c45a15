"""A few small programs in place of a whole set."""

from __future__ import annotations

from npu_target.calibrate.experiments import LAYERS, Experiment
from npu_target.calibrate.measurements import Measurements
from npu_target.device import DeviceConfig, preset
from npu_target.devices.gemmini.calibration import CALIBRATION

GROUPS = ("loads", "loads and stores")


def few_experiments(config: DeviceConfig | None = None) -> list[Experiment]:
    """Those of some groups; one of them as a layer."""
    config = config or preset("gemmini-16x16")
    groups = CALIBRATION.programs(config)
    found = [Experiment(group, program) for group in GROUPS for program in groups[group]]
    return [*found, Experiment(LAYERS, groups["stores"][0])]


def few() -> Measurements:
    return Measurements("run {elf}", few_experiments())
