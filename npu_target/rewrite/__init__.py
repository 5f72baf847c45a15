"""Programs rewritten for the host: the same commands in the same order, by fewer instructions and
from less code.

Code generation places commands; what it prints has conditions that a loop around decides, parts
that repeat themselves, and loops of two commands.  Each module here mends one of these.
"""

from __future__ import annotations

from ..device.command_set import CommandSet
from ..program import Node
from .conditions import decided
from .roll import rolled
from .split import split
from .unroll import unrolled

__all__ = ["rewritten"]


def rewritten(body: tuple[Node, ...], commands: CommandSet) -> tuple[Node, ...]:
    """A body of a device's commands with the same stream of commands, better for the host.

    Conditions are decided first, since what is alike without them is rolled; loops are unrolled
    last, since what is unrolled is not rolled again.
    """
    return unrolled(split(rolled(decided(body), commands), commands))
