"""Loops of few commands, unrolled: iterations share the branch and the additions at the end, and
what differed from one to the next is a constant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from typing import NamedTuple

from ..program import Command, Loop, Node, Op, const
from .conditions import decided, is_condition
from .kept import Kept, LoopIds
from .substitute import Replacement

# Commands of a body: of more, another branch saved is next to nothing.
_MOST = 16
# Where iterations are left over, so many others at least.
_LEAST_WITH_REST = 4
# Instructions to be saved for a command more in the program: see `split`.
_FETCHED = 16

_NONE: Mapping[int, int] = {}
# By loop id: of what extents it was found, and how many iterations became one then.
Taken = dict[int, set[tuple[int, int]]]


def unrolled(
    nodes: tuple[Node, ...],
    joined: Mapping[int, int] = _NONE,
    taken: Taken | None = None,
    unroller: Unroller | None = None,
) -> tuple[Node, ...]:
    """The same commands, with fewer iterations.  Of loops with the ids ``joined`` so many become
    one, or all where there are fewer; of others as many as pay.  Adds what it does to ``taken``.
    ``unroller`` keeps what is made of nodes."""
    found = (unroller or Unroller()).body(nodes, 1, joined)
    if taken is not None:
        for loop_id, what in found.taken:
            taken.setdefault(loop_id, set()).add(what)
    return found.nodes


class _Unrolled(NamedTuple):
    """What nodes became, and by loop id the extents and factors of `Taken`."""

    nodes: tuple[Node, ...]
    taken: frozenset[tuple[int, tuple[int, int]]]


class Unroller:
    """Unrolls loops, and keeps what it made of them."""

    def __init__(self) -> None:
        self._kept: Kept[_Unrolled] = Kept()
        self._loop_ids = LoopIds()

    def body(self, nodes: tuple[Node, ...], times: int, joined: Mapping[int, int]) -> _Unrolled:
        """A body that is run so many times."""
        if all(isinstance(node, Command) for node in nodes):
            return _Unrolled(nodes, frozenset())
        found: list[Node] = []
        taken: set[tuple[int, tuple[int, int]]] = set()
        for node in nodes:
            if isinstance(node, Command):
                found.append(node)
                continue
            mine: tuple[tuple[int, int], ...] = ()
            if joined:
                ids = self._loop_ids.of(node)
                mine = tuple([one for one in joined.items() if one[0] in ids])
            made = self._kept.at((times, mine))
            known = made.get(id(node))
            if known is None:
                known = made[id(node)] = node, self._loop(node, times, joined)
            found += known[1].nodes
            taken |= known[1].taken
        same = len(found) == len(nodes) and all(map(is_, found, nodes))
        return _Unrolled(nodes if same else tuple(found), frozenset(taken))

    def _loop(self, node: Loop, times: int, joined: Mapping[int, int]) -> _Unrolled:
        is_fixed = node.extent.op is Op.CONST
        extent = node.extent.value if is_fixed else 1
        inside = self.body(node.body, times * extent, joined)
        loop = node
        if inside.nodes is not node.body:
            loop = Loop(node.loop_id, node.extent, inside.nodes)
        if not is_fixed:
            return _Unrolled((loop,), inside.taken)
        factor = min(extent, joined.get(node.loop_id, 0))
        factor = factor or _factor(extent, _size(loop), times)
        taken = inside.taken | {(node.loop_id, (extent, factor))}
        return _Unrolled((loop,) if factor == 1 else _by(loop, extent, factor), taken)


def _by(loop: Loop, extent: int, factor: int) -> tuple[Node, ...]:
    """A loop with so many iterations in one, and those that are left over behind it."""
    repeats = extent // factor
    if repeats == 1:
        return tuple(_iterations(loop, range(extent)))
    body: list[Node] = []
    for index in range(factor):
        body += Replacement(loop.loop_id, factor, index).nodes(loop.body)
    left = _iterations(loop, range(repeats * factor, extent))
    return decided((Loop(loop.loop_id, const(repeats), tuple(body)), *left))


def _iterations(loop: Loop, indices: Iterable[int]) -> list[Node]:
    """Iterations of a loop one by one."""
    nodes: list[Node] = []
    for index in indices:
        nodes += Replacement(loop.loop_id, 0, index).nodes(loop.body)
    return list(decided(tuple(nodes)))


def _factor(extent: int, size: int, times: int) -> int:
    """How many iterations of a loop to make one, if it is run so many times: the most that pay."""
    best = 1
    for factor in range(2, min(extent, _MOST // size) + 1):
        rest = extent % factor
        if (factor + rest) * size > _MOST or (rest and factor < _LEAST_WITH_REST):
            continue
        if rest and best > 1 and not extent % best:
            continue  # rather none left over
        branches = times * (extent - extent // factor)
        saved = branches + (2 * times if factor == extent else 0)  # to begin a loop
        if saved > _FETCHED * (factor - 1 + rest) * size:
            best = factor
    return best


def _size(loop: Loop) -> int:
    """Commands and conditions of a body, or too many where it has loops."""
    size = 0
    for node in loop.body:
        if isinstance(node, Command):
            size += 1
        elif is_condition(node):
            size += 1 + _size(node)
        else:
            return _MOST + 1
    return max(size, 1)
