"""Taking the nodes of a program apart: what they hold, and parts of their loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from . import expr
from .isa import COMPUTES, LOADS, Mvout, Preload
from .isa_encoding import CONFIG_FUNCT, WORD_MASK
from .operand import Operand, OperandSum
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
    return _Move(at, frozenset(running)).nodes(nodes)


class _Move:
    def __init__(self, at: Mapping[int, int], running: frozenset[int]) -> None:
        self.at = at
        self.running = running

    @cached_property
    def expr(self) -> expr.Substitution:
        """Puts in the variables, as expressions."""
        forms = {
            loop_id: expr.add(expr.var(loop_id), value)
            if loop_id in self.running
            else expr.const(value)
            for loop_id, value in self.at.items()
        }
        return expr.Substitution(forms)

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Command):
                rs1, rs2 = self.operand(node.rs1), self.operand(node.rs2)
                same = rs1 is node.rs1 and rs2 is node.rs2
                found.append(node if same else Command(node.funct, rs1, rs2))
            elif isinstance(node, Loop):
                extent = node.extent
                if not extent.is_const:
                    extent = self.expr(extent)
                found.append(Loop(node.loop_id, extent, self.nodes(node.body)))
            else:
                fillers = tuple(
                    Filler(self.nodes(filler.nodes), filler.period, filler.burst)
                    for filler in node.fillers
                )
                found.append(Weave(self.nodes(node.body), fillers))
        return tuple(found)

    def operand(self, operand: Operand) -> Operand:
        at, steps = self.at, operand.steps
        if not steps and not operand.general:
            return operand
        base, left = operand.base, []
        for term in steps:
            iteration = at.get(term[0])
            if iteration is not None:
                base += term[1] * iteration
            if iteration is None or term[0] in self.running:
                left.append(term)
        if operand.general:
            total = OperandSum(base)
            total.add(Operand(0, operand.address, tuple(left)))
            for by, value in operand.general:
                total.add(self.expr(value), by)
            return total.operand()
        if len(left) != len(steps):
            return Operand(base & WORD_MASK, operand.address, tuple(left))
        if base == operand.base:
            return operand
        return Operand(base & WORD_MASK, operand.address, steps)
