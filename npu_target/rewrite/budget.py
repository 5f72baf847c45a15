"""More code for fewer instructions, where the host has too much to do for a command.

What pays by itself is done in any case (`parts.py`): that is enough where the host is ahead of the
device. Where it is not, loops are changed one after the other, those first of which most is run:
cut where a condition in them is decided, iterations written out, or left as they are. What that
gains is asked of the model by which the simulator charges its host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..device_api import HostCost
from ..program import Command, Expr, Loop, Node, Op, nodes_of
from .conditions import is_condition
from .parts import NO_CHANGE, Change, Parts

# Instructions a command, so that the host is ahead of the device, and bytes of code in loops, so
# that the instruction cache keeps them.
_MOST_INSTRUCTIONS = 3
_MOST_LOOP_BYTES = 12 * 1024
# Commands of a loop whose iterations are all written out: an eighth of those bytes, about.
_MOST_COMMANDS = 128
# A loop with a smaller part of the nodes that are run is not worth a try; with a smaller one of the
# two it is not even where nothing else helps.
_LEAST_SHARE = 1 / 64
_LEAST_SHARE_AT_ALL = 1 / 128
# Commands that may be counted in no time. Of more, the most are in loops that take long anyway.
_MOST_COUNTED = 1 << 24


class HostModel(NamedTuple):
    """The host of a device.

    cost : what a body asks of it.
    fetch_cycles : that a byte of its code takes to come from memory.
    """

    cost: Callable[[tuple[Node, ...]], HostCost]
    fetch_cycles: float


def within_budget(found: tuple[Node, ...], parts: Parts, host: HostModel) -> tuple[Node, ...]:
    """``parts`` rewritten, which are ``found``; where the code of unrolled loops is not worth it,
    without; and so that they take fewer instructions, where a command has too many of them."""
    if _commands_of(found) > _MOST_COUNTED:
        return found
    search = _Search(parts, host, _Found(found, host.cost(found), NO_CHANGE))
    search.leave_loops()
    if search.best.excess > 0:
        loops = _heaviest(parts.body, _LEAST_SHARE)
        for loop in loops:  # what pays for its code
            search.change([loop], search.time_saved)
        search.change(loops, _instructions_saved)  # the little that may be left
        for loop in _heaviest(parts.body, _LEAST_SHARE_AT_ALL):  # whatever it takes
            search.change([loop], _instructions_saved)
    return search.best.nodes


class _Found(NamedTuple):
    """A body, and what it asks of the host."""

    nodes: tuple[Node, ...]
    asked: HostCost
    change: Change

    @property
    def excess(self) -> int:
        """Instructions more than the host should have."""
        return self.asked.instructions - _MOST_INSTRUCTIONS * self.asked.commands

    @property
    def code_bytes(self) -> int:
        return self.asked.loop_bytes + self.asked.once_bytes


def _instructions_saved(before: _Found, after: _Found) -> tuple[float, ...]:
    """Instructions less of those that are too many; where these are as many, bytes of code."""
    return before.excess - max(0, after.excess), before.code_bytes - after.code_bytes


class _Search:
    """The best body found so far."""

    def __init__(self, parts: Parts, host: HostModel, first: _Found) -> None:
        self.best = first
        self._parts = parts
        self._host = host
        self._tried: dict[Change, _Found] = {}

    def time_saved(self, before: _Found, after: _Found) -> tuple[float, ...]:
        """Cycles that the host is late less, without those of fetching the code that is more."""
        late = before.excess - max(0, after.excess)
        return (late - self._host.fetch_cycles * (after.code_bytes - before.code_bytes),)

    def leave_loops(self) -> None:
        """Unroll none, where that takes fewer cycles: where registers do not suffice, what differs
        from iteration to iteration is made and stored before the loops."""
        if not self._parts.options.unrolling:
            return
        nodes = self._parts.without_unrolling()
        if nodes == self.best.nodes:
            return
        found = _Found(nodes, self._host.cost(nodes), NO_CHANGE)
        saved = self.best.code_bytes - found.code_bytes
        added = found.asked.instructions - self.best.asked.instructions
        if found.excess <= 0 and added < self._host.fetch_cycles * saved:
            self.best = found

    def change(
        self, loops: Iterable[Loop], gain: Callable[[_Found, _Found], tuple[float, ...]]
    ) -> None:
        """Change the best body in that one of the loops and in the way that gains most."""
        before = self.best
        most: tuple[float, ...] = (0.0,)
        if before.excess <= 0:
            return
        for loop in loops:
            for change in self._changes(before.change, loop):
                found = self._changed(change)
                gained = gain(before, found)
                if gained[0] > 0 and gained > most and found.asked.loop_bytes <= _MOST_LOOP_BYTES:
                    self.best, most = found, gained

    def _changed(self, change: Change) -> _Found:
        found = self._tried.get(change)
        if found is None:
            nodes = self._parts.changed(change)
            found = self._tried[change] = _Found(nodes, self._host.cost(nodes), change)
        return found

    def _changes(self, before: Change, loop: Loop) -> Iterator[Change]:
        """What may be done to a loop, besides what was done before."""
        options = self._parts.options
        if options.splitting and _is_asked(loop):
            yield before.cutting(loop.loop_id)
        if options.unrolling:
            commands, extent = _commands_of(loop.body), loop.extent.value
            fits = [n for n in (extent, 2) if n * commands <= _MOST_COMMANDS]
            for iterations in dict.fromkeys([*fits, 1]):
                if not self._parts.is_joined(before, loop.loop_id, iterations):
                    yield before.joining(loop.loop_id, iterations)


def _heaviest(nodes: tuple[Node, ...], least_share: float) -> list[Loop]:
    """The loops of fixed extents of which most is run, one of each id: those of which more than a
    share of all nodes that are run is."""
    runs: Counter[int] = Counter()
    loops: dict[int, Loop] = {}
    whole = _count(nodes, 1, runs, loops)
    ids = [loop_id for loop_id, nodes_run in runs.most_common() if nodes_run > least_share * whole]
    return [loops[loop_id] for loop_id in ids]


def _count(nodes: tuple[Node, ...], times: int, runs: Counter[int], loops: dict[int, Loop]) -> int:
    """How many nodes are run, and for each loop, those that are directly in it."""
    total = 0
    for node in nodes:
        total += times
        if isinstance(node, Command):
            continue
        if node.extent.op is not Op.CONST:
            total += _count(node.body, times, runs, loops)
            continue
        extent = max(0, node.extent.value)
        inside = _count(node.body, times * extent, runs, loops)
        loops[node.loop_id] = node
        runs[node.loop_id] += times * extent * (1 + _size(node.body))
        total += inside
    return total


def _size(nodes: tuple[Node, ...]) -> int:
    """Of a body, with what is under its conditions."""
    conditions = [node for node in nodes if isinstance(node, Loop) and is_condition(node)]
    return len(nodes) + sum([_size(node.body) for node in conditions])


def _commands_of(nodes: tuple[Node, ...]) -> int:
    """How many commands a body issues, all conditions met."""
    total = 0
    for node in nodes:
        if isinstance(node, Command):
            total += 1
        else:
            times = max(0, node.extent.value) if node.extent.op is Op.CONST else 1
            total += times * _commands_of(node.body)
    return total


def _is_asked(loop: Loop) -> bool:
    """Whether conditions in a loop are of its variable."""
    inside = [node for node in nodes_of(loop.body) if isinstance(node, Loop) and is_condition(node)]
    return any(_has(node.extent, loop.loop_id) for node in inside)


def _has(expr: Expr, loop_id: int) -> bool:
    """Whether a loop's variable is in an expression."""
    seen: set[Expr] = set()
    left = [expr]
    while left:
        part = left.pop()
        if part.op is Op.VAR and part.value == loop_id:
            return True
        if part not in seen:
            seen.add(part)
            left += part.args
    return False
