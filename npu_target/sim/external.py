"""Running a saved program by a command of the user's, beside the simulated device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from npu_target.device import DeviceConfig
from npu_target.external.device import ExternalDevice
from npu_target.program import Program


@dataclass(frozen=True)
class External:
    """`device` makes what runs programs of a device, `timeout_seconds` are of one run."""

    device: Callable[[DeviceConfig], ExternalDevice]
    timeout_seconds: float


def run_external(
    program: Program, arrays: Mapping[str, np.ndarray], external: External, repeat: int
) -> tuple[str, list[int], dict[str, np.ndarray]]:
    """What measured, the cycles of each of `repeat` runs, which all begin anew, and the outputs of
    the last one by name. `arrays` are all arguments. Raises ExternalError."""
    device = external.device(program.config)
    cycles = []
    given = [arrays[arg.name] for arg in program.args]
    for _ in range(repeat):
        measured = device.measure(program, given, external.timeout_seconds)
        cycles.append(measured.cycles)
    names = [arg.name for arg in program.args if arg.role == "output"]
    outputs = dict(zip(names, device.outputs(program, measured), strict=True))
    return device.name, cycles, outputs


def external_result(
    program: Program, runner: str, cycles: list[int], **more: Any
) -> dict[str, Any]:
    """The result as `--json` writes it: a command tells cycles alone."""
    return {
        **more,
        "name": program.name,
        "device": program.config.name,
        "kind": program.config.kind,
        "runner": runner,
        "cycles": cycles,
        "runs": [{"cycles": count} for count in cycles],
    }
