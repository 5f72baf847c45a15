"""Programs rewritten for the host: the same commands in the same order, by fewer instructions and
from less code.

Code generation places commands; what it prints has conditions that a loop around decides, parts
that repeat themselves, and loops of two commands.  Each module here mends one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ..device.command_set import CommandSet
from ..program import Loop, Node, nodes_of
from .conditions import decided
from .cost import Work, rough_cost, work_of
from .hoist import hoisted
from .roll import rolled
from .split import split
from .sums import shared
from .unroll import unrolled

__all__ = ["rewritten"]

# Instructions a command, so that the host is ahead of the device, and bytes of code in loops, so
# that the instruction cache keeps them.
_MOST_INSTRUCTIONS = 3
_MOST_LOOP_BYTES = 12 * 1024
# Estimates of instructions are right within so much; at a glance, within so much.
_UNSURE, _VERY_UNSURE = 0.015, 0.15
# A loop that is cut saves about so many times what it asked: operands of commands that are no
# longer under a condition run in fewer registers.
_GAINED = 2


def rewritten(body: tuple[Node, ...], commands: CommandSet, registers: int) -> tuple[Node, ...]:
    """A body of a device's commands with the same stream of commands, better for a host that has
    so many registers for operands.

    Conditions are decided first, since what is alike without them is rolled; loops are unrolled
    later, since what is unrolled is not rolled again; where sums are made is seen at the end.
    Where the host then still has too much to do for a command, more code is made of the program.
    """
    body = rolled(decided(body), commands)
    parts = [hoisted(unrolled(split((node,), commands))) for node in body]
    found = _joined(parts)
    n_commands, instructions = rough_cost(found)
    if instructions <= (1 - _VERY_UNSURE) * _MOST_INSTRUCTIONS * n_commands:
        return found
    work = work_of(found, commands, registers)
    if _excess(work) > 0:
        for other in _lighter(body, commands, parts, work):
            asked = work_of(other, commands, registers)
            if asked.instructions < work.instructions and asked.loop_bytes <= _MOST_LOOP_BYTES:
                found, work = other, asked
            if _excess(work) <= 0:
                break
    return found


def _joined(parts: list[tuple[Node, ...]]) -> tuple[Node, ...]:
    return shared(tuple(chain.from_iterable(parts)))


def _excess(work: Work) -> float:
    """Instructions more than the host should have."""
    return work.instructions - (1 - _UNSURE) * _MOST_INSTRUCTIONS * work.commands


def _lighter(
    body: tuple[Node, ...], commands: CommandSet, parts: list[tuple[Node, ...]], work: Work
) -> Iterator[tuple[Node, ...]]:
    """The commands of a body of which these parts are made, with loops around the array's steps
    cut, some and then more of them, and with loops left as they are where registers do not suffice
    for longer ones."""

    def cut(loop_ids: frozenset[int]) -> tuple[Node, ...]:
        found = list(parts)
        for index, node in enumerate(body):
            if _has(node, loop_ids):
                found[index] = hoisted(unrolled(split((node,), commands, loop_ids)))
        return _joined(found)

    few, more = _asking(work, _GAINED), _asking(work, 1)
    if few:
        yield cut(few)
    if more != few:
        yield cut(more)
    if work.stored > _excess(work):
        yield shared(hoisted(split(body, commands)))


def _has(node: Node, loop_ids: frozenset[int]) -> bool:
    """Whether a node is, or has in it, one of some loops."""
    return any(isinstance(part, Loop) and part.loop_id in loop_ids for part in nodes_of((node,)))


def _asking(work: Work, gained: float) -> frozenset[int]:
    """The inner loops around the array's steps that ask most for their code, by id: so many that
    without their questions, each worth so many instructions, the host has no more than it should.
    All of them where they are too few, none where they are by far."""
    loops = [part for part in work.parts() if part.is_loop and part.asked and part.has_steps]
    inner = [part for part in loops if not any(other.is_loop for other in part.parts())]
    left = _excess(work)
    if left > _GAINED**2 * sum([part.asked for part in inner]):
        return frozenset()
    found: set[int] = set()
    for part in sorted(inner, key=lambda part: part.asked / part.size, reverse=True):
        if left <= 0:
            break
        assert part.loop is not None
        found.add(part.loop.loop_id)
        left -= gained * part.asked
    return frozenset(found)
