"""Loops of few commands, unrolled: iterations share the branch and the additions at the end, and
what differed from one to the next is a constant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..program import Command, Loop, Node, Op, const
from .conditions import decided, is_condition
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
    nodes: tuple[Node, ...], joined: Mapping[int, int] = _NONE, taken: Taken | None = None
) -> tuple[Node, ...]:
    """The same commands, with fewer iterations.  Of loops with the ids ``joined`` so many become
    one, or all where there are fewer; of others as many as pay.  Adds what it does to ``taken``."""
    return tuple(_unrolled(nodes, 1, joined, {} if taken is None else taken))


def _unrolled(
    nodes: tuple[Node, ...], times: int, joined: Mapping[int, int], taken: Taken
) -> list[Node]:
    """A body that is run so many times."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Command):
            found.append(node)
        elif node.extent.op is not Op.CONST:
            body = _unrolled(node.body, times, joined, taken)
            found.append(Loop(node.loop_id, node.extent, tuple(body)))
        else:
            extent = node.extent.value
            body = _unrolled(node.body, times * extent, joined, taken)
            loop = Loop(node.loop_id, node.extent, tuple(body))
            factor = min(extent, joined.get(node.loop_id, 0))
            factor = factor or _factor(extent, _size(loop), times)
            taken.setdefault(node.loop_id, set()).add((extent, factor))
            found += [loop] if factor == 1 else _by(loop, extent, factor)
    return found


def _by(loop: Loop, extent: int, factor: int) -> list[Node]:
    """A loop with so many iterations in one, and those that are left over behind it."""
    repeats = extent // factor
    if repeats == 1:
        return _iterations(loop, range(extent))
    body: list[Node] = []
    for index in range(factor):
        body += Replacement(loop.loop_id, factor, index).nodes(loop.body)
    left = _iterations(loop, range(repeats * factor, extent))
    return list(decided((Loop(loop.loop_id, const(repeats), tuple(body)), *left)))


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
