"""Programs as ELFs: where their arguments lie, and what they give under an emulator."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tvm

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig, kind_of, preset
from npu_target.device_api import create_module, last_stats
from npu_target.external import objects
from npu_target.external.command import RunCommand
from npu_target.external.device import ExternalDevice
from npu_target.external.elf import ElfBuilder
from npu_target.external.errors import ElfError, ExternalError
from npu_target.external.toolchain import BAREMETAL, EMULATED, LINUX, Toolchain
from npu_target.program import Arg, Program
from npu_target.schedule_rules import default_schedule

CONFIG = preset("gemmini-16x16")
OPERATORS = [
    topi.Matmul(batch=1, m=21, k=64, n=48, bias=True, scale=0.01, relu=True),
    topi.Conv2d(n=1, h=6, w=7, ci=16, co=32, kh=3, kw=3, pad=(1, 1, 1, 1), bias=True, scale=0.01),
    topi.Add(9, 13, 16).canonical(),
]


def program_of(operator: topi.Operator, config: DeviceConfig = CONFIG) -> Program:
    kernel = operator.kernel()
    return build_program(default_schedule(kernel, config).mod["main"], config, operator.name)


def arrays_of(program: Program) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.integers(-100, 100, arg.shape).astype(arg.dtype) for arg in program.args]


def simulated(program: Program, arrays: list[np.ndarray]) -> tuple[int, np.ndarray]:
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    create_module({program.name: program.to_bytes()})[program.name](*tensors)
    return last_stats().cycles, tensors[-1].numpy()


def test_a_compiler_that_is_not_there():
    with pytest.raises(ElfError, match=r"no-such-gcc is not installed, .* gcc-riscv64-linux-gnu"):
        ElfBuilder(CONFIG, Toolchain(LINUX, "no-such-gcc"))


def test_a_compiler_that_is_none(tmp_path):
    builder = ElfBuilder(CONFIG, Toolchain(LINUX, "false"), tmp_path)
    with pytest.raises(ElfError, match="false refuses"):
        builder.prepare()


def test_a_flavour_that_is_none():
    with pytest.raises(ElfError, match="'dos'; there are linux, baremetal, emulated"):
        Toolchain("dos")


def test_a_command_without_inputs(tmp_path):
    builder = ElfBuilder(CONFIG, Toolchain(LINUX, "true"), tmp_path)
    with pytest.raises(ExternalError, match=r"has no \{input\}, and an ELF for linux reads"):
        ExternalDevice(RunCommand.parse("true {elf} {output}"), builder)


@pytest.fixture(scope="module")
def builder() -> ElfBuilder:
    return ElfBuilder(CONFIG, Toolchain(EMULATED))


@pytest.mark.riscv
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_bytes_and_cycles_are_the_simulators(builder, operator):
    program = program_of(operator)
    arrays = arrays_of(program)
    cycles, output = simulated(program, arrays)
    for template in ("qemu-riscv64 {elf} {input} {output}", "qemu-riscv64 {elf} {input}"):
        device = ExternalDevice(RunCommand.parse(template), builder)
        measured = device.measure(program, arrays, 300.0)
        assert measured.cycles == cycles
        (found,) = device.outputs(program, measured)
        np.testing.assert_array_equal(found, output)


@pytest.mark.slow
@pytest.mark.riscv
def test_another_kind_of_device_with_constants_of_its_own(tmp_path):
    config = preset("vta-1x16x16")
    program = program_of(topi.Matmul(batch=1, m=21, k=64, n=48), config)
    assert program.constants
    arrays = arrays_of(program)
    cycles, output = simulated(program, arrays)
    command = RunCommand.parse("qemu-riscv64 {elf} {input} {output}")
    device = ExternalDevice(command, ElfBuilder(config, Toolchain(EMULATED)))
    measured = device.measure(program, arrays, 300.0)
    assert measured.cycles == cycles
    np.testing.assert_array_equal(device.outputs(program, measured)[0], output)


@pytest.mark.riscv
@pytest.mark.parametrize("flavour", [LINUX, BAREMETAL])
def test_commands_that_no_core_has(tmp_path, flavour):
    builder = ElfBuilder(preset("vta-1x16x16"), Toolchain(flavour), tmp_path)
    with pytest.raises(ElfError, match="vta devices are no instructions of a RISC-V core"):
        builder.prepare()


@pytest.mark.riscv
def test_what_the_device_refuses_has_its_kind(builder):
    small = CONFIG.replace(acc_bank_rows=16, name="small")
    program = program_of(OPERATORS[0])
    program = Program(program.name, small, program.args, program.body, program.constants)
    device = ExternalDevice(RunCommand.parse("qemu-riscv64 {elf} {input} {output}"), builder)
    with pytest.raises(ExternalError) as caught:
        device.measure(program, arrays_of(program), 300.0)
    assert caught.value.kind == "address_out_of_range"


@pytest.mark.riscv
def test_inputs_of_another_size(builder, tmp_path):
    program = program_of(OPERATORS[2])
    with pytest.raises(ElfError, match=r"a needs int8\[.*\], has int16\["):
        builder.build(program, [a.astype("int16") for a in arrays_of(program)], tmp_path)


@pytest.mark.riscv
def test_a_file_of_inputs_that_was_cut(builder, tmp_path):
    program = program_of(OPERATORS[2])
    elf = builder.build(program, arrays_of(program), tmp_path)
    elf.inputs.write_bytes(elf.inputs.read_bytes()[:-1])
    command = RunCommand.parse("qemu-riscv64 {elf} {input} {output}")
    with pytest.raises(ExternalError, match=r"inputs\.bin: needs 16384 bytes, has fewer"):
        command.run(elf.path, elf.inputs, elf.output_bytes, tmp_path, 60.0)


@pytest.mark.riscv
def test_a_core_without_the_device():
    program = program_of(OPERATORS[2])
    builder = ElfBuilder(CONFIG, Toolchain(LINUX))
    device = ExternalDevice(RunCommand.parse("qemu-riscv64 {elf} {input} {output}"), builder)
    with pytest.raises(ExternalError) as caught:
        device.measure(program, arrays_of(program), 300.0)
    assert caught.value.kind == "run_error" and "a command; no device takes it on this core" in str(
        caught.value
    )


@pytest.mark.riscv
def test_common_parts_are_made_once(tmp_path):
    chain = Toolchain(BAREMETAL)
    first = ElfBuilder(CONFIG, chain, tmp_path).prepare()
    made = (first / "common.o").stat().st_mtime_ns
    assert ElfBuilder(CONFIG, chain, tmp_path).prepare() == first
    assert (first / "common.o").stat().st_mtime_ns == made
    other = ElfBuilder(CONFIG, Toolchain(BAREMETAL, flags=("-O1",)), tmp_path).prepare()
    assert other != first
    assert sorted(tmp_path.glob("[!.]*")) == sorted([first, other])


@pytest.mark.riscv
def test_without_an_operating_system_inputs_are_inside(tmp_path):
    program = program_of(OPERATORS[0])
    builder = ElfBuilder(CONFIG, Toolchain(BAREMETAL), tmp_path / "cache")
    arrays = arrays_of(program)
    elf = builder.build(program, arrays, tmp_path)
    assert elf.path.stat().st_size < 1 << 20  # no gaps of memory
    symbols = _symbols(elf.path)
    memory = _memory(elf.path, symbols["npu_memory"])
    assert memory == elf.inputs.read_bytes()
    place = symbols["npu_output0"] - symbols["npu_memory"]
    assert memory[place : place + arrays[-1].nbytes] == arrays[-1].tobytes()
    assert _size(elf.path, "npu_output0") == arrays[-1].nbytes  # what a dump of memory takes


def spike(builder: ElfBuilder) -> ExternalDevice:
    """QEMU's machine of that name, which has no device."""
    machine = "qemu-system-riscv64 -machine spike -m 64M -bios none -display none -monitor none"
    return ExternalDevice(RunCommand.parse(f"{machine} -serial stdio -kernel {{elf}}"), builder)


@pytest.mark.riscv
def test_without_an_operating_system_it_starts_counts_and_prints(tmp_path, monkeypatch):
    """A program without commands, of a kind of device that needs none at the start."""
    (tmp_path / "ready_npu").mkdir()
    (tmp_path / "ready_npu" / "start.h").write_text("static inline void npu_start(void) {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    kind = replace(kind_of(CONFIG), start_header_at="ready_npu:start.h")
    monkeypatch.setattr(objects, "kind_of", lambda config: kind)
    args = (Arg("x", "input", "int8", (100,)), Arg("y", "output", "int8", (333,)))
    program = Program("idle", CONFIG, args, ())
    arrays = arrays_of(program)
    device = spike(ElfBuilder(CONFIG, Toolchain(BAREMETAL), tmp_path / "cache"))
    measured = device.measure(program, arrays, 120.0)
    assert measured.cycles > 0
    np.testing.assert_array_equal(device.outputs(program, measured)[0], arrays[1])


@pytest.mark.riscv
def test_without_an_operating_system_a_trap_says_what_it_is(tmp_path):
    program = program_of(OPERATORS[2])
    with pytest.raises(ExternalError) as caught:
        spike(ElfBuilder(CONFIG, Toolchain(BAREMETAL), tmp_path)).measure(
            program, arrays_of(program), 120.0
        )
    assert caught.value.kind == "run_error"
    assert "exit code 1" in str(caught.value) and "a command; no device" in str(caught.value)


@pytest.mark.riscv
def test_memory_that_does_not_suffice(tmp_path):
    chain = Toolchain(BAREMETAL, flags=("-Wl,--defsym=__flash_size=0x100",))
    builder = ElfBuilder(CONFIG, chain, tmp_path / "cache")
    program = program_of(OPERATORS[0])
    with pytest.raises(ElfError, match=r"region `FLASH' overflowed by [0-9]+ bytes"):
        builder.build(program, arrays_of(program), tmp_path)


@pytest.mark.riscv
def test_memory_somewhere_else(tmp_path):
    places = {"__flash": 0x40000000, "__ram": 0x50000000}
    flags = [f"-Wl,--defsym={name}={place:#x}" for name, place in places.items()]
    flags.append("-Wl,--section-start=.npu_memory=0x60000000")
    builder = ElfBuilder(CONFIG, Toolchain(BAREMETAL, flags=tuple(flags)), tmp_path / "cache")
    program = program_of(OPERATORS[0])
    symbols = _symbols(builder.build(program, arrays_of(program), tmp_path).path)
    assert symbols["npu_memory"] == 0x60000000
    assert symbols["_start"] == 0x40000000 and 0x50000000 < symbols["tohost"] < 0x50040000


def _symbols(elf: Path) -> dict[str, int]:
    nm = shutil.which("riscv64-unknown-elf-nm")
    assert nm is not None
    lines = subprocess.run([nm, elf], capture_output=True, text=True, check=True).stdout
    return {name: int(at, 16) for at, _, name in map(str.split, lines.splitlines())}


def _size(elf: Path, symbol: str) -> int:
    """How many bytes a symbol has."""
    command = ["riscv64-unknown-elf-nm", "--print-size", elf]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    (found,) = (line.split() for line in lines if line.endswith(f" {symbol}"))
    return int(found[1], 16)


def _memory(elf: Path, address: int) -> bytes:
    """The bytes that a loader puts there, to the end of their part of the file."""
    command = ["riscv64-unknown-elf-objcopy", "-O", "binary", "-j", ".npu_memory"]
    target = elf.with_suffix(".memory")
    subprocess.run([*command, elf, target], check=True)
    return target.read_bytes()
