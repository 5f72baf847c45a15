"""One function for kernels that differ in constant words of settings."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import pytest
from native_kernels import COMPILER, WARNINGS, _recorder

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.export.kernels import SharedKernel, shared_kernels
from npu_target.program import Command, Program
from npu_target.program.c import header_text
from npu_target.schedule_rules import default_schedule

CONFIG = preset("gemmini-16x16")


def matmul(name: str, scale: float, relu: bool = False, m: int = 40) -> Program:
    operator = topi.Matmul(batch=1, m=m, k=64, n=20, bias=True, relu=relu, scale=scale)
    return build_program(default_schedule(operator, CONFIG).mod["main"], CONFIG, name)


def add(name: str, scale: float) -> Program:
    operator = topi.Add(rows=64, cols=16, dim=CONFIG.dim, scale=scale)
    return build_program(default_schedule(operator, CONFIG).mod["main"], CONFIG, name)


def issued(kernel: SharedKernel, program: Program, folder: Path) -> list[tuple[int, int, int]]:
    import subprocess

    assert COMPILER is not None
    (folder / "npu.h").write_text(header_text())
    (folder / "kernel.c").write_text(kernel.text)
    command = [COMPILER, *WARNINGS, "-fPIC", "-shared", "-DNPU_ISSUE=issue", "kernel.c"]
    library = f"{program.name}.so"
    subprocess.run([*command, _recorder(), "-o", library], cwd=folder, check=True)
    loaded = ctypes.CDLL(str(folder / library))
    words = [ctypes.c_uint64(word) for word in kernel.words(program)]
    pointers = [ctypes.c_void_p(address) for address in addresses(program).values()]
    getattr(loaded, kernel.name)(*pointers, *words)
    count = ctypes.c_uint64()
    loaded.recorded.restype = ctypes.POINTER(ctypes.c_uint64)
    stream = loaded.recorded(ctypes.byref(count))[: count.value]
    return list(zip(stream[0::3], stream[1::3], stream[2::3], strict=True))


def addresses(program: Program) -> dict[str, int]:
    return {arg.name: 0x80010000 + (index << 20) for index, arg in enumerate(program.args)}


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
@pytest.mark.parametrize("relu", [False, True])
def test_each_issues_its_own_stream(relu: bool, tmp_path: Path) -> None:
    programs = [matmul("one", 0.01), matmul("two", 0.02, relu), matmul("three", 0.01)]
    kernels = shared_kernels(programs)
    assert len({kernel.name for kernel in kernels.values()}) == 1
    kernel = kernels["one"]
    assert len(kernel.varying) == (2 if relu else 1)
    assert kernel.words(programs[0]) == kernel.words(programs[2]) != kernel.words(programs[1])
    for program in programs:
        assert issued(kernel, program, tmp_path) == program.expand(addresses(program))


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_sums_of_other_scales(tmp_path: Path) -> None:
    programs = [add("one", 0.5), add("two", 0.75)]
    kernels = shared_kernels(programs)
    assert kernels["one"] is kernels["two"]
    for program in programs:
        wanted = program.expand(addresses(program))
        assert issued(kernels[program.name], program, tmp_path) == wanted


def test_other_shapes_are_other_kernels() -> None:
    kernels = shared_kernels([matmul("one", 0.01), matmul("two", 0.01, m=24)])
    assert [kernel.name for kernel in kernels.values()] == ["kernel_one", "kernel_two"]
    assert all(kernel.varying == () for kernel in kernels.values())


def test_a_word_that_is_no_setting_is_not_shared() -> None:
    first = matmul("one", 0.01)
    changed = [
        replace_word(node) if isinstance(node, Command) and node.funct == 2 else node
        for node in first.body
    ]
    assert changed != list(first.body)
    kernels = shared_kernels([first, replace(first, name="two", body=tuple(changed))])
    assert kernels["one"] != kernels["two"]


def replace_word(command: Command) -> Command:
    return Command(command.funct, command.rs1, replace(command.rs2, base=command.rs2.base ^ 1))


def test_a_kernel_by_itself_has_no_parameters() -> None:
    program = matmul("one", 0.01)
    kernel = shared_kernels([program])["one"]
    assert kernel.program == program and kernel.words(program) == []
