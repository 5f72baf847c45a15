"""A device with a fixed function: it computes a matrix product as one job, and runs no schedules.

Its vendor's library has two ways to ask for one: with weights as a network has them, or in blocks
in which the device reads them twice as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from npu_target.device import DeviceConfig, DeviceKind, Features, Limits, Memories, Memory


@dataclass(frozen=True)
class JobConfig(DeviceConfig):
    kind: ClassVar[str] = "job"
    limits: ClassVar[Limits] = Limits(Path(__file__).with_name("limits.def"))

    name: str = "job-8"
    lanes: int = 8  # side of its array, which does lanes x lanes products a cycle
    bytes_per_cycle: int = 16  # from memory
    job_cycles: int = 50  # from the command to the first element

    @property
    def dim(self) -> int:
        return self.lanes

    @property
    def memories(self) -> Memories:
        """The block of weights in its array; no command names a row of it."""
        block = Memory("global.job_block", "block", self.lanes, self.lanes, self.lanes, "int8")
        return Memories(block, block, block)


def features(config: JobConfig) -> Features:
    return Features()


KIND = DeviceKind(
    name="job",
    config=JobConfig,
    presets=(JobConfig(),),
    commands_at="job_device.commands:COMMANDS",
    numbers_at="job_device.simulator:NUMBERS",
    features=features,
    operators=("matmul",),
    routes_at="job_device.routes:ROUTES",
    simulator_at="job_device.simulator:simulate",
)
