"""Conditions that are always or never met, and neighbours that are met together."""

from __future__ import annotations

from collections.abc import Mapping

from ..program import BOOLEAN_OPS, Command, Loop, Node, Op
from .ranges import Range, Ranges
from .substitute import Replacement

NO_LOOPS: Mapping[int, Range] = {}


def decided(nodes: tuple[Node, ...], loops: Mapping[int, Range] = NO_LOOPS) -> tuple[Node, ...]:
    """The same commands, without conditions that the loops around decide, and with one condition
    for neighbours that have the same."""
    return _decided(nodes, dict(loops))


def is_condition(node: Node) -> bool:
    """Whether a node runs its body once or not at all."""
    return isinstance(node, Loop) and node.extent.op in BOOLEAN_OPS


def _decided(nodes: tuple[Node, ...], loops: dict[int, Range]) -> tuple[Node, ...]:
    ranges = Ranges(loops)
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Command):
            runs = node.rs1.general or node.rs2.general
            found.append(_simplified(node, ranges) if runs else node)
            continue
        extent = node.extent
        if extent.op is not Op.CONST:
            extent = ranges.simplified(extent)
        if extent.op is Op.CONST and extent.value <= 1:
            if extent.value == 1:
                found += _decided(Replacement(node.loop_id, 0, 0).nodes(node.body), loops)
            continue
        if extent.op is Op.CONST or extent.op in BOOLEAN_OPS:
            last = extent.value - 1 if extent.op is Op.CONST else 0
            body = _decided(node.body, {**loops, node.loop_id: (0, last)})
        else:
            inner = dict(loops)
            inner.pop(node.loop_id, None)
            body = _decided(node.body, inner)
        if body:
            _append(found, Loop(node.loop_id, extent, body))
    return tuple(found)


def _append(nodes: list[Node], loop: Loop) -> None:
    """Add a loop, or what it does to the condition before, if that is the same."""
    last = nodes[-1] if nodes else None
    if (
        isinstance(last, Loop)
        and last.extent.op in BOOLEAN_OPS
        and last.extent == loop.extent
        and last.loop_id == loop.loop_id
    ):
        nodes[-1] = Loop(loop.loop_id, loop.extent, (*last.body, *loop.body))
    else:
        nodes.append(loop)


def _simplified(command: Command, ranges: Ranges) -> Command:
    words = []
    for word in (command.rs1, command.rs2):
        if word.general:
            terms = [type(word).of(ranges.simplified(expr)) * by for by, expr in word.general]
            word = type(word)(word.base, word.address, word.steps)
            for term in terms:
                word = word + term
        words.append(word)
    return Command(command.funct, *words)
