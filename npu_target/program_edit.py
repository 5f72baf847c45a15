"""Taking the nodes of a program apart: what they hold, and parts of their loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import expr
from .isa import COMPUTES, LOADS, Mvout, Preload
from .isa_encoding import CONFIG_FUNCT, WORD_MASK
from .operand import Operand
from .program_nodes import Command, Filler, Loop, Node, Weave

CONFIG, LOAD, STORE, STEP, OTHER = "config", "load", "store", "step", "other"
_KINDS = {
    CONFIG_FUNCT: frozenset({CONFIG}),
    **{load.funct: frozenset({LOAD}) for load in LOADS},
    Mvout.funct: frozenset({STORE}),
    **{step.funct: frozenset({STEP}) for step in (Preload, *COMPUTES)},
}
_OTHER = frozenset({OTHER})
_NONE: frozenset[int] = frozenset()


class NodeKinds:
    """What the commands of nodes are: settings, copies in or out, or the array's steps. Remembers
    what it was asked, for nodes are asked about again and again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, frozenset[str]]] = {}

    def __call__(self, node: Node) -> frozenset[str]:
        if isinstance(node, Command):
            return _KINDS.get(node.funct, _OTHER)
        known = self._known.get(id(node))
        if known is None:
            parts = node.body if isinstance(node, Loop) else (*node.body, *node.filling)
            known = node, frozenset().union(*map(self, parts))
            self._known[id(node)] = known
        return known[1]


def moved(
    nodes: tuple[Node, ...], at: Mapping[int, int], running: Iterable[int] = _NONE
) -> tuple[Node, ...]:
    """Nodes with the variables of loops around them, by their ids, at these values; those of
    ``running`` go on from there."""
    forms = {
        loop_id: expr.add(expr.var(loop_id), value) if loop_id in running else expr.const(value)
        for loop_id, value in at.items()
    }
    return _moved(nodes, at, frozenset(running), forms)


def _moved(
    nodes: tuple[Node, ...],
    at: Mapping[int, int],
    running: frozenset[int],
    forms: Mapping[int, expr.Expr],
) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            extent = node.extent
            if not extent.is_const:
                extent = expr.substitute(extent, forms)
            found.append(Loop(node.loop_id, extent, _moved(node.body, at, running, forms)))
        elif isinstance(node, Weave):
            fillers = tuple(
                Filler(_moved(filler.nodes, at, running, forms), filler.period, filler.burst)
                for filler in node.fillers
            )
            found.append(Weave(_moved(node.body, at, running, forms), fillers))
        else:
            words = (_moved_operand(word, at, running, forms) for word in (node.rs1, node.rs2))
            found.append(Command(node.funct, *words))
    return tuple(found)


def _moved_operand(
    operand: Operand,
    at: Mapping[int, int],
    running: frozenset[int],
    forms: Mapping[int, expr.Expr],
) -> Operand:
    if operand.general:
        parts = [Operand(operand.base, operand.address)]
        for loop_id, step in operand.steps:
            parts.append(Operand.of(forms.get(loop_id, expr.var(loop_id))) * step)
        for by, value in operand.general:
            parts.append(Operand.of(expr.substitute(value, forms)) * by)
        return Operand.of(*parts)
    if not any(loop_id in at for loop_id, _ in operand.steps):
        return operand
    base = sum(step * at.get(loop_id, 0) for loop_id, step in operand.steps)
    steps = tuple(step for step in operand.steps if step[0] not in at or step[0] in running)
    return Operand((operand.base + base) & WORD_MASK, operand.address, steps)
