"""What is measured: the programs of a kind's set, and layers to check with."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..device import DeviceConfig, kind_of
from ..device.calibration import CalibrationSet
from ..program import Program
from .errors import CalibrationError

LAYERS = "layers"
# What outputs hold before a run: a byte that is not written keeps it.
_UNWRITTEN = 0x55


@dataclass(frozen=True)
class Experiment:
    """A program, and its group: LAYERS is what nothing is fitted to."""

    group: str
    program: Program

    @property
    def is_held_out(self) -> bool:
        return self.group == LAYERS

    @property
    def name(self) -> str:
        return self.program.name


def set_of(config: DeviceConfig) -> CalibrationSet:
    """The set of the device's kind. Raises CalibrationError where it has none."""
    kind = kind_of(config)
    if kind.calibration is None:
        raise CalibrationError(
            f"devices of kind {kind.name} have no set of programs to calibrate with: their "
            "manifest gives no calibration_at"
        )
    return kind.calibration


def experiments_of(config: DeviceConfig, skipped: Collection[str] = ()) -> list[Experiment]:
    """All for a device, but for groups that are skipped. Raises CalibrationError for a kind without
    a set and for a group that there is not."""
    from ..codegen_tir import build_program
    from ..schedule_rules import default_schedule

    given = set_of(config)
    groups = given.programs(config)
    for name in skipped:
        if name not in (*groups, LAYERS):
            known = ", ".join((*groups, LAYERS))
            raise CalibrationError(f"there is no group {name!r} of programs; there are {known}")
    found = [
        Experiment(group, program)
        for group, programs in groups.items()
        if group not in skipped
        for program in programs
    ]
    if LAYERS not in skipped:
        for operator in given.operators(config):
            func = default_schedule(operator, config).mod["main"]
            found.append(Experiment(LAYERS, build_program(func, config, operator.name)))
    return found


def arrays_of(program: Program) -> list[np.ndarray]:
    """What its arguments hold before a run, always the same: random inputs, marked outputs."""
    arrays = []
    for arg in program.args:
        if arg.role == "input":
            random = np.random.default_rng(zlib.crc32(f"{program.name} {arg.name}".encode()))
            data = random.integers(0, 256, arg.nbytes, np.uint8)
        else:
            data = np.full(arg.nbytes, _UNWRITTEN, np.uint8)
        arrays.append(data.view(arg.dtype).reshape(arg.shape))
    return arrays


def expected_outputs(program: Program) -> bytes:
    """The bytes of its outputs, one after the other, by the simulated device. Raises RuntimeError
    for what that refuses."""
    import tvm

    from ..device_api import create_module

    tensors = [tvm.runtime.tensor(array) for array in arrays_of(program)]
    create_module({program.name: program.to_bytes()})[program.name](*tensors)
    return b"".join(
        tensor.numpy().tobytes()
        for tensor, arg in zip(tensors, program.args, strict=True)
        if arg.role == "output"
    )
