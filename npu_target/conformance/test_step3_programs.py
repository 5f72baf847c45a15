"""Step 3: program files survive, damaged ones are refused, and there is something to run them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm

from npu_target.conformance.examples import program_command, program_of, program_of_commands
from npu_target.device import DeviceConfig, DeviceKind
from npu_target.device_api import create_module, last_stats, validate_program
from npu_target.program import Program, ProgramError

_FUNCTS = range(128)


@pytest.fixture(scope="module")
def program(kind: DeviceKind, config: DeviceConfig) -> Program:
    """All of the device's commands."""
    return program_of_commands(kind, config)


def _launch(program: Program) -> None:
    tensors = [tvm.runtime.tensor(np.zeros(arg.shape, arg.dtype)) for arg in program.args]
    create_module({program.name: program.to_bytes()})[program.name](*tensors)


def test_a_file_gives_the_program_back(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "kernel.npu"
    program.save(path)
    assert Program.load(path) == program
    validate_program(path.read_bytes())
    assert program.config.name in program.text


def test_the_stream_has_commands_of_the_device_only(program: Program, kind: DeviceKind) -> None:
    addresses = {arg.name: 1 << (20 + i) for i, arg in enumerate(program.places)}
    for words in program.expand(addresses):
        assert kind.commands.decode(*words).encode() == words
    assert "raw" not in program.text


def test_damaged_files_are_refused(program: Program, tmp_path: Path) -> None:
    data = program.to_bytes()
    for damaged in (b"", data[:-1], data[:20] + bytes([data[20] ^ 1]) + data[21:], data + b"x"):
        with pytest.raises(ProgramError):
            Program.from_bytes(damaged)
        with pytest.raises(RuntimeError, match="bad_program"):
            validate_program(damaged)


def test_wrong_arguments_are_refused(program: Program) -> None:
    function = create_module({program.name: program.to_bytes()})[program.name]
    tensors = [tvm.runtime.empty((*arg.shape, 2), arg.dtype) for arg in program.args]
    with pytest.raises(RuntimeError):
        function(*tensors)
    with pytest.raises(RuntimeError):
        function()


def test_there_is_a_simulator(kind: DeviceKind, config: DeviceConfig) -> None:
    """It has nothing to do, and says so."""
    if kind.simulator_at is not None:
        assert callable(kind.simulate)
    _launch(program_of(config))
    stats = last_stats()
    assert stats is not None
    assert (stats.commands, stats.macs) == (0, 0)


def test_the_simulator_refuses_what_is_no_command(kind: DeviceKind, config: DeviceConfig) -> None:
    unknown = [funct for funct in _FUNCTS if kind.commands.find(funct, 0) is None]
    for funct in unknown[:2]:
        with pytest.raises(RuntimeError, match=r"NpuDeviceError \["):
            _launch(program_of(config, program_command(funct, 0, 0)))
