"""Programs rewritten for the host: the same commands in the same order, by fewer instructions and
from less code.

Code generation places commands; what it prints has conditions that a loop around decides, parts
that repeat themselves, and loops of two commands.  Each module here mends one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from ..device.command_set import CommandSet
from ..pipeline_options import DEFAULT, PipelineOptions
from ..program import Loop, Node, nodes_of
from .conditions import decided
from .cost import Work, rough_cost, work_of
from .hoist import hoisted
from .roll import rolled
from .split import split
from .sums import shared
from .unroll import unrolled

__all__ = ["PASSES", "rewritten"]

# Instructions a command, so that the host is ahead of the device, and bytes of code in loops, so
# that the instruction cache keeps them.
_MOST_INSTRUCTIONS = 3
_MOST_LOOP_BYTES = 12 * 1024
# Estimates of instructions are right within so much; at a glance, within so much.
_UNSURE, _VERY_UNSURE = 0.015, 0.15
# A loop that is cut saves about so many times what it asked: operands of commands that are no
# longer under a condition run in fewer registers.
_GAINED = 2

# What rewrites a program, in its order.
PASSES = ("conditions", "rolling", "splitting", "unrolling", "hoisting", "sums", "budget")

_Rewrite = Callable[[tuple[Node, ...]], tuple[Node, ...]]
_Pass = tuple[str, _Rewrite]  # by the optimization that it is


def rewritten(
    body: tuple[Node, ...],
    commands: CommandSet,
    registers: int,
    options: PipelineOptions = DEFAULT,
    show: Callable[[str, tuple[Node, ...]], None] = lambda name, nodes: None,
) -> tuple[Node, ...]:
    """A body of a device's commands with the same stream of commands, better for a host that has
    so many registers for operands.  ``show`` is given what each pass leaves.

    Conditions are decided first, since what is alike without them is rolled; loops are unrolled
    later, since what is unrolled is not rolled again; where sums are made is seen at the end.
    Where the host then still has too much to do for a command, more code is made of the program.
    """
    for name, rewrite in _chosen(_of_all(commands), options):
        body = rewrite(body)
        show(name, body)
    parts: list[tuple[Node, ...]] = [(node,) for node in body]
    for name, rewrite in _chosen(_of_parts(commands), options):
        parts = [rewrite(part) for part in parts]
        show(name, _joined(parts))
    finish = shared if options.sums else _as_it_is
    found = finish(_joined(parts))
    if options.sums:
        show("sums", found)
    if options.budget:
        lighter = _Lighter(body, parts, commands, options, finish)
        found = _within_budget(found, lighter, commands, registers)
        show("budget", found)
    return found


def _of_all(commands: CommandSet) -> list[_Pass]:
    """What looks at a whole body."""
    return [("conditions", decided), ("rolling", partial(rolled, commands=commands))]


def _of_parts(commands: CommandSet, cut: frozenset[int] = frozenset()) -> list[_Pass]:
    """What looks at each of its nodes for itself; the loops around steps with ids in ``cut`` are
    cut as well."""
    return [
        ("splitting", partial(split, commands=commands, around_steps=cut)),
        ("unrolling", unrolled),
        ("hoisting", hoisted),
    ]


def _chosen(passes: list[_Pass], options: PipelineOptions) -> list[_Pass]:
    return [(name, rewrite) for name, rewrite in passes if getattr(options, name)]


def _as_it_is(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    return nodes


def _joined(parts: Iterable[tuple[Node, ...]]) -> tuple[Node, ...]:
    return tuple(chain.from_iterable(parts))


# ---- more code for fewer instructions ------------------------------------------------------


def _within_budget(
    found: tuple[Node, ...], lighter: _Lighter, commands: CommandSet, registers: int
) -> tuple[Node, ...]:
    """A body, or one that takes fewer instructions, where a command has too many of them."""
    n_commands, instructions = rough_cost(found)
    if instructions <= (1 - _VERY_UNSURE) * _MOST_INSTRUCTIONS * n_commands:
        return found
    work = work_of(found, commands, registers)
    if _excess(work) > 0:
        for other in lighter.bodies(work):
            asked = work_of(other, commands, registers)
            if asked.instructions < work.instructions and asked.loop_bytes <= _MOST_LOOP_BYTES:
                found, work = other, asked
            if _excess(work) <= 0:
                break
    return found


def _excess(work: Work) -> float:
    """Instructions more than the host should have."""
    return work.instructions - (1 - _UNSURE) * _MOST_INSTRUCTIONS * work.commands


class _Lighter(NamedTuple):
    """A body, its nodes as they were rewritten, and how."""

    body: tuple[Node, ...]
    parts: list[tuple[Node, ...]]
    commands: CommandSet
    options: PipelineOptions
    finish: _Rewrite

    def bodies(self, work: Work) -> Iterator[tuple[Node, ...]]:
        """The same commands, with loops around the array's steps cut, some and then more of them,
        and with loops left as they are where registers do not suffice for longer ones."""
        if self.options.splitting:
            few, more = _asking(work, _GAINED), _asking(work, 1)
            if few:
                yield self.cut(few)
            if more != few:
                yield self.cut(more)
        if self.options.unrolling and work.stored > _excess(work):
            options = replace(self.options, unrolling=False)
            yield self.finish(self.again(self.body, options))

    def cut(self, loop_ids: frozenset[int]) -> tuple[Node, ...]:
        """The body with these loops cut."""
        found = list(self.parts)
        for index, node in enumerate(self.body):
            if _has(node, loop_ids):
                found[index] = self.again((node,), self.options, loop_ids)
        return self.finish(_joined(found))

    def again(
        self,
        nodes: tuple[Node, ...],
        options: PipelineOptions,
        loop_ids: frozenset[int] = frozenset(),
    ) -> tuple[Node, ...]:
        """Nodes rewritten anew."""
        for _, rewrite in _chosen(_of_parts(self.commands, loop_ids), options):
            nodes = rewrite(nodes)
        return nodes


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
