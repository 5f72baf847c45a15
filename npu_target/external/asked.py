"""The device that options describe."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from ..device import DeviceConfig
from .command import RunCommand
from .device import ExternalDevice
from .elf import ElfBuilder
from .errors import CommandError
from .toolchain import Toolchain


def external_device(options: argparse.Namespace, config: DeviceConfig) -> ExternalDevice | None:
    """The device that `options.add_external_options` describe; None for the simulated one.

    Raises CommandError and ElfError for what cannot be, before anything runs.
    """
    if options.run_with is None:
        if options.runner is not None or options.elf_cc is not None or options.elf_flags:
            raise CommandError("--runner, --elf-cc and --elf-flags say how to use --run-with")
        return None
    try:
        flags = tuple(shlex.split(options.elf_flags))
    except ValueError as error:
        raise CommandError(f"--elf-flags cannot be read: {error}") from error
    command = RunCommand.parse(options.run_with)
    compiler = options.elf_cc
    if compiler is not None and os.sep in compiler:  # it will run in other folders
        compiler = str(Path(compiler).absolute())
    builder = ElfBuilder(config, Toolchain(options.elf_for, compiler, flags))
    return ExternalDevice(command, builder, options.runner)
