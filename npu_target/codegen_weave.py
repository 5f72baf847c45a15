"""Weaving: copies of another tile go into the gaps between this tile's array steps.

A queue of the device holds a few loads only; the ninth load in a row blocks the host until the
first is done, and the array runs dry behind it.  Between the array's steps the same loads find
the queue empty and overlap with all of the tile's work, not just with its end.
"""

from __future__ import annotations

from collections.abc import Iterable

from .program import Command, Loop, Node, Weave

# A preload and a compute belong together.
_STEP_COMMANDS = 2
# The last copies should be done, not merely issued, when the next tile needs them.
_SPREAD_OVER = 7 / 8


def weave(body: tuple[Node, ...], filler: tuple[Node, ...]) -> tuple[Node, ...]:
    """``body`` with the commands of ``filler`` spread evenly over most of it."""
    steps = count_commands(body) // _STEP_COMMANDS
    copies = count_commands(filler)
    if not steps or not copies:
        return (*filler, *body)
    gaps = max(1, int(steps * _SPREAD_OVER))
    period = _STEP_COMMANDS * max(1, gaps // copies)
    burst = max(1, -(-copies // gaps))
    return (Weave(body, filler, period, burst),)


def count_commands(nodes: Iterable[Node]) -> int:
    """How many commands the nodes issue; loops whose extent is not known are taken once."""
    total = 0
    for node in nodes:
        if isinstance(node, Command):
            total += 1
        elif isinstance(node, Loop):
            times = max(0, node.extent.value) if node.extent.is_const else 1
            total += times * count_commands(node.body)
        else:
            total += count_commands(node.body) + count_commands(node.filler)
    return total
