"""The options by which a command of the user's becomes a device, and the way back to a command
line. `asked` makes the device; commands import this one, which must not take time."""

from __future__ import annotations

import argparse

from .toolchain import FLAVOURS, LINUX


def add_external_options(parser: argparse._ActionsContainer, required: bool = False) -> None:
    """What `asked.external_device` makes a device of."""
    parser.add_argument(
        "--run-with",
        required=required,
        metavar="COMMAND",
        help="measure by this command, such as 'qemu-riscv64 {elf} {input} {output}': it runs the "
        "ELF, prints a line 'npu cycles N', and leaves the bytes of the outputs in {output}, or "
        "prints them; see docs/measuring_on_anything.md",
    )
    parser.add_argument(
        "--elf-for",
        choices=FLAVOURS,
        default=LINUX,
        help="what runs the ELF: Linux, nothing but the core, or an emulator of a core without the "
        "device, which gets a simulated one (default: %(default)s)",
    )
    parser.add_argument(
        "--elf-cc", metavar="GCC", help="the compiler of ELFs (default: Debian's for RISC-V)"
    )
    parser.add_argument(
        "--elf-flags",
        default="",
        metavar="FLAGS",
        help="more flags for it, written --elf-flags='-DNPU_OPCODE=CUSTOM_2'",
    )


def add_runner_name(parser: argparse._ActionsContainer) -> None:
    """What a command is called."""
    parser.add_argument(
        "--runner",
        metavar="NAME",
        help="what measures, as logs and trackers name it beside the device (default: the name of "
        "the program in --run-with)",
    )


def to_arguments(options: argparse.Namespace) -> list[str]:
    """The same options for a command line."""
    if options.run_with is None:
        return []
    given = {
        "run-with": options.run_with,
        "runner": options.runner,
        "elf-for": options.elf_for,
        "elf-cc": options.elf_cc,
        "elf-flags": options.elf_flags,
    }
    return [f"--{name}={value}" for name, value in given.items() if value is not None]
