"""Loops cut in two where a condition inside is decided from there on, so that it is not asked in
every iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from operator import is_

from ..device.command_set import CommandSet
from ..program import Command, Expr, Loop, Node, Op, const, nodes_of
from .conditions import decided, is_condition
from .kept import Kept, LoopIds
from .ranges import Range, Ranges
from .substitute import Replacement

# Instructions of a condition: its operations and the branch.
_ASKED = 4
# Instructions to be saved for a command more in the program.  Its code is fetched once, in the time
# of six; and what is saved brings nothing while the device is busy anyway.
_FETCHED = 16


class Splitter:
    """Cuts loops of a device's commands, and keeps what it made of them."""

    def __init__(self, commands: CommandSet) -> None:
        self.commands = commands
        self._kept: Kept[tuple[Node, ...]] = Kept()
        self._loop_ids = LoopIds()

    def split(
        self, nodes: tuple[Node, ...], around_steps: frozenset[int] = frozenset()
    ) -> tuple[Node, ...]:
        """The same commands, with fewer questions asked in loops: inner ones, those of copies only,
        and, whatever that takes, those with the ids ``around_steps``."""
        return self.body(nodes, {}, 1, around_steps)

    def body(
        self,
        nodes: tuple[Node, ...],
        loops: Mapping[int, Range],
        times: int,
        around_steps: frozenset[int],
    ) -> tuple[Node, ...]:
        """A body that is run so many times, inside of loops whose variables have these values."""
        if all(isinstance(node, Command) for node in nodes):
            return nodes
        found: list[Node] = []
        ranges = tuple(loops.items())
        for node in nodes:
            if isinstance(node, Command):
                found.append(node)
                continue
            mine = around_steps and around_steps & self._loop_ids.of(node)
            made = self._kept.at((ranges, times, mine))
            known = made.get(id(node))
            if known is None:
                known = made[id(node)] = node, self.loop(node, loops, times, around_steps)
            found += known[1]
        same = len(found) == len(nodes) and all(map(is_, found, nodes))
        return nodes if same else tuple(found)

    def loop(
        self, node: Loop, loops: Mapping[int, Range], times: int, around_steps: frozenset[int]
    ) -> tuple[Node, ...]:
        """A loop, or a condition, of such a body."""
        is_fixed = node.extent.op is Op.CONST
        extent = node.extent.value if is_fixed else 1
        inner = {**loops, node.loop_id: (0, extent - 1)} if is_fixed else loops
        body = self.body(node.body, inner, times * extent, around_steps)
        loop = node if body is node.body else Loop(node.loop_id, node.extent, body)
        if not is_fixed:
            return (loop,)
        return self.cut(loop, extent, loops, times, is_chosen=loop.loop_id in around_steps)

    def cut(
        self, loop: Loop, extent: int, loops: Mapping[int, Range], times: int, *, is_chosen: bool
    ) -> tuple[Node, ...]:
        """A loop in ranges in which conditions are decided, if that pays."""
        asked: dict[Expr, int] = {}
        size = _count(loop, 1, asked)
        if not asked or not (is_chosen or self.may_cut(loop)):
            return (loop,)
        cuts: set[int] = set()
        for condition in asked:
            cuts.update(_cuts(condition, loop.loop_id, extent, loops))
        saved = times * extent * _ASKED * sum(asked.values())
        if not cuts or (not is_chosen and saved <= _FETCHED * size * len(cuts)):
            return (loop,)
        nodes: list[Node] = []
        for begin, end in pairwise([0, *sorted(cuts), extent]):
            if end - begin == 1:
                nodes += Replacement(loop.loop_id, 0, begin).nodes(loop.body)
            else:
                body = Replacement(loop.loop_id, 1, begin).nodes(loop.body)
                nodes.append(Loop(loop.loop_id, const(end - begin), body))
        return decided(tuple(nodes), loops)

    def may_cut(self, loop: Loop) -> bool:
        """Whether a loop is an inner one, or of copies only: around the device's steps the host
        has time for questions, and there is much code that would be there twice."""
        if not any(isinstance(node, Loop) and not is_condition(node) for node in loop.body):
            return True
        return not any(
            isinstance(node, Command) and self.commands.is_computing(node.funct, node.rs1.base)
            for node in nodes_of(loop.body)
        )


def _cuts(condition: Expr, loop_id: int, extent: int, loops: Mapping[int, Range]) -> Iterator[int]:
    """Where a condition is decided that is so in the first iterations of a loop, or in the last."""

    def is_decided(first: int, last: int) -> bool:
        ranges = Ranges({**loops, loop_id: (first, last)})
        return ranges.simplified(condition).op is Op.CONST

    if is_decided(0, 0):
        low, high = 1, extent
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if is_decided(0, middle - 1) else (low, middle - 1)
        if low < extent:
            yield low
    if is_decided(extent - 1, extent - 1):
        low, high = 0, extent - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_decided(middle, extent - 1) else (middle + 1, high)
        if low > 0:
            yield low


def _count(loop: Loop, times: int, asked: dict[Expr, int]) -> int:
    """How many commands and loops a body has.  Adds how often each of its conditions is asked in
    an iteration."""
    size = 0
    for node in loop.body:
        size += 1
        if isinstance(node, Command):
            continue
        if is_condition(node):
            asked[node.extent] = asked.get(node.extent, 0) + times
            size += _count(node, times, asked)
        else:
            extent = node.extent.value if node.extent.op is Op.CONST else 1
            size += _count(node, times * extent, asked)
    return size
