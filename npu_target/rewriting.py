"""Programs rewritten for the host: the same commands in the same order, by fewer instructions and
from less code.

Code generation places commands; what it prints has conditions that a loop around decides, parts
that repeat themselves, and loops of two commands.  The passes that mend this are in the device
library (`device_api/rewrite/`), since a search makes thousands of programs.
"""

from __future__ import annotations

from collections.abc import Callable

from .device.command_set import CommandSet
from .device_api import rewritten_codes
from .pipeline_options import DEFAULT, PipelineOptions
from .program import Node, Program, ProgramError
from .program.file import with_code, write_program

__all__ = ["PASSES", "rewritten"]

# What rewrites a program, in its order.
PASSES = ("conditions", "rolling", "splitting", "unrolling", "hoisting", "sums", "budget")

Show = Callable[[str, Program], None]


def rewritten(
    program: Program,
    body: tuple[Node, ...],
    commands: CommandSet,
    options: PipelineOptions = DEFAULT,
    show: Show | None = None,
) -> Program:
    """The program with a body of a device's commands, in its place one with the same stream of
    commands, better for the device's host.

    Parameters
    ----------
    body : is not that of the program; it is checked when it is rewritten.
    options : says which of the `PASSES` are made.
    show : is given what each pass leaves.

    Raises
    ------
    ProgramError
        for a body whose parts do not fit together, or that would divide by zero.
    """
    passes = [name for name in PASSES if getattr(options, name)]
    try:
        codes = rewritten_codes(
            write_program(program, body), commands.numbers, passes, show is not None
        )
    except RuntimeError as error:
        if "[bad_program]" not in str(error):
            raise
        raise ProgramError(f"program {program.name}: {error}") from error
    for name, code in codes[:-1]:
        if show is not None:
            show(name, with_code(program, code))
    return with_code(program, codes[-1][1])
