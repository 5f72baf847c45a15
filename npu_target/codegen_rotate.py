"""Loops over tiles, turned: what an iteration begins with stands at the end of the one before.

A tile that is loaded when its iteration begins waits for all of it.  With the copies at the end
of the iteration before, they come behind that one's steps, and so between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from . import expr
from .program_edit import CONFIG, LOAD, STEP, STORE, NodeKinds, moved
from .program_nodes import Loop, Node, nodes_of

# The body of a loop is there up to four times then.
_MOST_NODES = 1000


def rotate(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes with all such loops turned, the inner ones first."""
    return _rotate(nodes, NodeKinds())


def _rotate(nodes: Iterable[Node], kinds: NodeKinds) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        held = kinds(node) if isinstance(node, Loop) else frozenset()
        if isinstance(node, Loop) and STEP in held and len(held) > 1 and CONFIG not in held:
            loop = Loop(node.loop_id, node.extent, _rotate(node.body, kinds))
            found += _rotated(loop, kinds, is_loaded_for=bool(found) and kinds(found[-1]) == {LOAD})
        else:
            found.append(node)
    return tuple(found)


def _rotated(loop: Loop, kinds: NodeKinds, is_loaded_for: bool) -> tuple[Node, ...]:
    """A loop: its first iterations, most of them as a loop, and the last one.  One that begins
    with steps is left alone, but for the first iteration where that is loaded before the loop."""
    first = tuple(takewhile(lambda node: kinds(node) <= {LOAD, STORE}, loop.body))
    others = loop.body[len(first) :]
    extent = loop.extent.value if loop.extent.is_const else 0
    if extent < 2 or sum(1 for _ in nodes_of(loop.body)) > _MOST_NODES:
        return (loop,)

    def at(nodes: tuple[Node, ...], iteration: int, *, runs: bool = False) -> tuple[Node, ...]:
        return moved(nodes, {loop.loop_id: iteration}, {loop.loop_id} if runs else ())

    if not first:
        if not is_loaded_for:
            return (loop,)
        left = at(others, 1, runs=True) if extent > 2 else at(others, 1)
        rest = (Loop(loop.loop_id, expr.const(extent - 1), left),) if extent > 2 else left
        return (*at(others, 0), *rest)
    begin = (*at(first, 0), *at(others, 0), *at(first, 1))
    end = at(others, extent - 1)
    if extent == 2:
        return (*begin, *end)
    if extent == 3:
        return (*begin, *at(others, 1), *at(first, 2), *end)
    body = (*at(others, 1, runs=True), *at(first, 2, runs=True))
    return (*begin, Loop(loop.loop_id, expr.const(extent - 2), body), *end)
