"""Step 3: program files survive, damaged ones are refused, launches give values and cycles."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm

from npu_target.conformance.runs import default_program, inputs_of, launched
from npu_target.device import DeviceConfig
from npu_target.device_api import create_module, last_stats, program_cycles, validate_program
from npu_target.program import Program, ProgramError
from npu_target.topi import Operator
from npu_target.topi.fitting import fitted_examples
from npu_target.topi.registry import operators_of


@pytest.fixture(scope="module")
def simple(config: DeviceConfig) -> Operator:
    """The device's first operator, at its first size."""
    return fitted_examples(operators_of(config)[0], config)[0]


@pytest.fixture(scope="module")
def program(simple: Operator, config: DeviceConfig) -> Program:
    """The program of that operator."""
    return default_program(simple, config)[0]


def test_a_file_gives_the_program_back(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "kernel.npu"
    program.save(path)
    assert Program.load(path) == program
    validate_program(path.read_bytes())
    assert program.config.name in program.text


def test_the_stream_has_commands_of_the_device_only(program: Program) -> None:
    addresses = {arg.name: 1 << (20 + i) for i, arg in enumerate(program.places)}
    stream = program.expand(addresses)
    assert stream
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


def test_a_launch_takes_cycles_that_repeat(simple: Operator, config: DeviceConfig) -> None:
    program, mod = default_program(simple, config)
    launched(program, inputs_of(simple, config, mod))
    stats = last_stats()
    assert stats is not None
    assert stats.cycles > 0
    cold = program_cycles(program.to_bytes())
    assert cold == program_cycles(program.to_bytes()) is not None
    assert program_cycles(program.to_bytes(), max_cycles=1) is None
