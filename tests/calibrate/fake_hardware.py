"""A Gemmini that is not the one described: the simulated device with another config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from npu_target.calibrate.experiments import expected_outputs
from npu_target.device import DeviceConfig
from npu_target.device_api import program_cycles
from npu_target.program import Program


@dataclass(frozen=True)
class FakeAnswer:
    cycles: int
    outputs: bytes


def hardware(
    hidden: DeviceConfig, noise: Callable[[], float] = lambda: 1.0
) -> Callable[[Program, Sequence[np.ndarray]], FakeAnswer]:
    """Runs programs on the hidden config; cycles are multiplied by `noise()`."""

    def run(program: Program, arrays: Sequence[np.ndarray]) -> FakeAnswer:
        cycles = program_cycles(program.to_bytes(), 0, hidden)
        assert cycles is not None
        return FakeAnswer(round(cycles * noise()), expected_outputs(program))

    return run


def with_values(config: DeviceConfig, values: Mapping[str, int]) -> DeviceConfig:
    return config.replace(name="hidden", **values)
