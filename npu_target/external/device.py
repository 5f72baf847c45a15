"""A device that a command of the user's runs programs on."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..files import check_name
from ..program import Program
from .command import Measured, RunCommand
from .elf import ElfBuilder
from .errors import CommandError
from .toolchain import BAREMETAL


class ExternalDevice:
    """Measures programs by a command.

    name : of what measures, as in logs; None is that of the program which the command starts.

    Raises CommandError for a name that no folder can have, and for a command that does not take
    what the ELF needs.
    """

    def __init__(self, command: RunCommand, builder: ElfBuilder, name: str | None = None) -> None:
        self.command = command
        self.builder = builder
        self.name = Path(command.program).name if name is None else name
        check_name("the runner's name", self.name, CommandError)
        flavour = builder.toolchain.flavour
        if flavour != BAREMETAL and not command.takes("input"):
            raise CommandError(
                f"the command has no {{input}}, and an ELF for {flavour} reads its inputs from "
                "that file; one for baremetal has them inside"
            )

    def measure(
        self,
        program: Program,
        arrays: Sequence[np.ndarray],
        timeout_seconds: float,
        is_given_up: Callable[[], bool] = lambda: False,
    ) -> Measured:
        """Run a program once. `arrays` are as in `ElfBuilder.build`, `is_given_up` as in
        `RunCommand.run`; compiling and running have so many seconds.

        Raises ElfError and RunError.
        """
        prints_outputs = not self.command.takes("output")
        with tempfile.TemporaryDirectory(prefix="npu-external-") as name:
            folder = Path(name)
            started = time.monotonic()
            elf = self.builder.build(program, arrays, folder, prints_outputs, timeout_seconds)
            left = max(0.0, timeout_seconds - (time.monotonic() - started))
            return self.command.run(
                elf.path, elf.inputs, elf.output_bytes, folder, left, is_given_up
            )

    def outputs(self, program: Program, measured: Measured) -> list[np.ndarray]:
        """The outputs of a program as arrays, in the order of its arguments."""
        arrays, begin = [], 0
        for arg in program.args:
            if arg.role == "output":
                data = measured.outputs[begin : begin + arg.nbytes]
                arrays.append(np.frombuffer(data, arg.dtype).reshape(arg.shape))
                begin += arg.nbytes
        return arrays
