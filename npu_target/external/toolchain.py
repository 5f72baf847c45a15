"""The compiler for the device's own host, and what it is told."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import ElfError

LINUX = "linux"
BAREMETAL = "baremetal"
EMULATED = "emulated"
FLAVOURS = (LINUX, BAREMETAL, EMULATED)

_LINUX_COMPILER = "riscv64-linux-gnu-gcc"
_COMPILERS = {
    LINUX: _LINUX_COMPILER,
    BAREMETAL: "riscv64-unknown-elf-gcc",
    EMULATED: _LINUX_COMPILER,
}
_PACKAGES = {
    LINUX: "gcc-riscv64-linux-gnu",
    BAREMETAL: "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    EMULATED: "g++-riscv64-linux-gnu",
}
# As the Makefile of an export has them.
_ARCH = ("-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany")
_C = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-ffp-contract=off")
_CXX = ("-std=c++17", "-O2", "-Wall", "-Wextra", "-ffp-contract=off", "-fno-trapping-math")
_MOST_CHARACTERS = 300

# Where a program without an operating system has its code, its variables, and its arguments.
FLASH = 0x80000000
FLASH_BYTES = 0x1000000
RAM = 0x81000000
RAM_BYTES = 0x40000
STACK_BYTES = 0x10000
ARGUMENTS = RAM + RAM_BYTES


@dataclass(frozen=True)
class Toolchain:
    """How ELFs are made.

    flavour : LINUX reads its inputs from a file and writes its outputs to another, BAREMETAL has
        its inputs inside and prints, EMULATED is LINUX with the simulator inside, for emulators of
        a core without the device.
    compiler : a GCC for RISC-V; None is Debian's. The C++ compiler that EMULATED needs besides has
        the name with g++ for gcc.
    flags : more of them, which come last.
    """

    flavour: str = LINUX
    compiler: str | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.flavour not in FLAVOURS:
            raise ElfError(f"no ELF is for {self.flavour!r}; there are {', '.join(FLAVOURS)}")

    @property
    def c_compiler(self) -> str:
        return self.compiler or _COMPILERS[self.flavour]

    @property
    def cxx_compiler(self) -> str:
        folder, slash, name = self.c_compiler.rpartition("/")
        return folder + slash + name.replace("gcc", "g++")

    def check(self) -> None:
        """Raise ElfError now for a compiler that is not there."""
        compilers = [self.c_compiler]
        if self.flavour == EMULATED:
            compilers.append(self.cxx_compiler)
        for compiler in compilers:
            if shutil.which(compiler) is None:
                raise ElfError(
                    f"{compiler} is not installed, which makes ELFs for {self.flavour}; Debian has "
                    f"it in {_PACKAGES[self.flavour]}, and --elf-cc takes another one"
                )

    @cached_property
    def version(self) -> str:
        """Of the compiler, as it says it. Raises ElfError where it is none."""
        return _run([self.c_compiler, "--version"], Path("/"), 60.0).splitlines()[0]

    @cached_property
    def c_flags(self) -> tuple[str, ...]:
        """To compile C."""
        return (*_C, *self._common, *self.flags)

    @cached_property
    def cxx_flags(self) -> tuple[str, ...]:
        """To compile C++."""
        return (*_CXX, *self._common, *self.flags)

    @property
    def _common(self) -> tuple[str, ...]:
        if self.flavour == BAREMETAL:
            return (*_ARCH, "--specs=picolibc.specs", "-DNPU_BARE_METAL")
        return _ARCH

    def link_flags(self, common: Path) -> tuple[str, ...]:
        """To link, with the linker's scripts in this folder."""
        if self.flavour != BAREMETAL:
            return ("-static", *self.flags)
        places = {
            "__flash": FLASH,
            "__flash_size": FLASH_BYTES,
            "__ram": RAM,
            "__ram_size": RAM_BYTES,
            "__stack_size": STACK_BYTES,
        }
        return (
            "-nostartfiles",
            f"-T{common / 'memory.ld'}",
            str(common / "checks.ld"),
            *(f"-Wl,--defsym={name}={value:#x}" for name, value in places.items()),
            f"-Wl,--section-start=.npu_memory={ARGUMENTS:#x}",
            *self.flags,
        )

    def c(self, arguments: Sequence[str], folder: Path, timeout_seconds: float) -> None:
        """Run the C compiler in a folder. Raises ElfError with what it says."""
        _run([self.c_compiler, *arguments], folder, timeout_seconds)

    def cxx_link(self, arguments: Sequence[str], folder: Path, timeout_seconds: float) -> None:
        """As `c`, and have the library of C++ linked."""
        _run([self.c_compiler, *arguments, "-lstdc++", "-lm"], folder, timeout_seconds)

    def cxx(self, arguments: Sequence[str], folder: Path, timeout_seconds: float) -> None:
        """Run the C++ compiler in a folder. Raises ElfError with what it says."""
        _run([self.cxx_compiler, *arguments], folder, timeout_seconds)


def _run(command: list[str], folder: Path, timeout_seconds: float) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
        )
    except OSError as error:
        raise ElfError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise ElfError(f"{command[0]} was not done after {timeout_seconds:g} s") from error
    if done.returncode != 0:
        raise ElfError(f"{command[0]} refuses: {_complaint(done.stderr)[:_MOST_CHARACTERS]}")
    return done.stdout


def _complaint(said: str) -> str:
    """The lines that tell why a compiler, or its linker, has given up."""
    lines = [re.sub(r"^\S*/(?=\S+: )", "", line.strip()) for line in said.splitlines()]
    errors = [
        line
        for line in lines
        if re.search(r"error: |ld: ", line) and not re.search(r"warning: |^collect2", line)
    ]
    return "; ".join(errors or filter(None, lines[-2:])) or "it says nothing"
