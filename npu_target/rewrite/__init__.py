"""Programs rewritten for the host: the same commands in the same order, by fewer instructions and
from less code.

Code generation places commands; what it prints has conditions that a loop around decides, parts
that repeat themselves, and loops of two commands.  Each module here mends one of these.
"""

from __future__ import annotations

from ..device.command_set import CommandSet
from ..pipeline_options import DEFAULT, PipelineOptions
from ..program import Node
from .budget import HostModel, within_budget
from .conditions import decided
from .parts import Parts, Show
from .roll import rolled

__all__ = ["PASSES", "HostModel", "rewritten"]

# What rewrites a program, in its order.
PASSES = ("conditions", "rolling", "splitting", "unrolling", "hoisting", "sums", "budget")


def rewritten(
    body: tuple[Node, ...],
    commands: CommandSet,
    host: HostModel,
    options: PipelineOptions = DEFAULT,
    show: Show = lambda name, nodes: None,
) -> tuple[Node, ...]:
    """A body of a device's commands with the same stream of commands, better for the device's
    ``host``.  ``show`` is given what each pass leaves.

    Conditions are decided first, since what is alike without them is rolled; loops are unrolled
    later, since what is unrolled is not rolled again; where sums are made is seen at the end.
    Where the host then still has too much to do for a command, more code is made of the program.
    """
    if options.conditions:
        body = decided(body)
        show("conditions", body)
    if options.rolling:
        body = rolled(body, commands)
        show("rolling", body)
    parts = Parts(body, commands, options)
    found = parts.rewritten(show)
    if options.budget:
        found = within_budget(found, parts, host)
        show("budget", found)
    return found
