"""Measuring on what a command of the user's runs: an RTL simulation, an emulator, a board.

A program and its data become an ELF for the device's own host (`elf`), the command is started with
it and answers with cycles and bytes (`command`); both together are a device (`device`).
"""

from .command import Measured, RunCommand
from .device import ExternalDevice
from .elf import Elf, ElfBuilder
from .errors import CommandError, ElfError, ExternalError, RunError
from .toolchain import BAREMETAL, EMULATED, FLAVOURS, LINUX, Toolchain

__all__ = [
    "BAREMETAL",
    "CommandError",
    "EMULATED",
    "Elf",
    "ElfBuilder",
    "ElfError",
    "ExternalDevice",
    "ExternalError",
    "FLAVOURS",
    "LINUX",
    "Measured",
    "RunCommand",
    "RunError",
    "Toolchain",
]
