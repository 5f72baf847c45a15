"""Sums of general expressions that several operands have, made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import is_

from ..program import Address, Command, Expr, Loop, Node, Op, Operand, add, const, mul
from .kept import Kept

_Terms = tuple[tuple[int, Expr], ...]
# Where a sum runs: an address, and the steps along loops.
_Runs = tuple[Address | None, tuple[tuple[int, int], ...]]


_Users = frozenset[tuple[_Terms, _Runs]]


def shared(nodes: tuple[Node, ...], users: Users | None = None) -> tuple[Node, ...]:
    """The same commands; a sum that operands have which run differently is one expression, so that
    each of them adds it in one instruction instead of multiplying and adding every term.
    ``users`` keep what nodes have."""
    times = Counter([terms for terms, _ in (users or Users()).of(nodes, ())])
    often = {terms: _expression(terms) for terms, runs in times.items() if runs > 1}
    return _shared(nodes, {}, often) if often else nodes


class Users:
    """Sums in a program and how operands run that have them, kept by node."""

    def __init__(self) -> None:
        self._kept: Kept[_Users] = Kept()

    def of(self, nodes: tuple[Node, ...], around: tuple[int, ...]) -> _Users:
        """Of a body inside of loops with these ids, outermost first: but for those that are added
        in one instruction anyway."""
        found: set[tuple[_Terms, _Runs]] = set()
        made = self._kept.at(around)
        depths = {loop_id: depth for depth, loop_id in enumerate(around)}
        for node in nodes:
            if isinstance(node, Loop):
                known = made.get(id(node))
                if known is None:
                    known = made[id(node)] = node, self.of(node.body, (*around, node.loop_id))
                found |= known[1]
                continue
            for word in (node.rs1, node.rs2):
                if word.general:
                    for terms in _by_loop(word.general, depths):
                        if not _is_plain(terms):
                            found.add((terms, (word.address, word.steps)))
        return frozenset(found)


def _shared(
    nodes: tuple[Node, ...], depths: Mapping[int, int], often: Mapping[_Terms, Expr]
) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            body = _shared(node.body, {**depths, node.loop_id: len(depths)}, often)
            if body is not node.body:
                node = Loop(node.loop_id, node.extent, body)
        elif node.rs1.general or node.rs2.general:
            rs1, rs2 = [_with_sums(word, depths, often) for word in (node.rs1, node.rs2)]
            if rs1 is not node.rs1 or rs2 is not node.rs2:
                node = Command(node.funct, rs1, rs2)
        found.append(node)
    return nodes if all(map(is_, found, nodes)) else tuple(found)


def _with_sums(word: Operand, depths: Mapping[int, int], often: Mapping[_Terms, Expr]) -> Operand:
    if not word.general:
        return word
    general: list[tuple[int, Expr]] = []
    by_loop = _by_loop(word.general, depths)
    if len(by_loop) == 1 and by_loop[0] not in often:
        return word
    for terms in by_loop:
        general += [(1, often[terms])] if terms in often else terms
    return Operand(word.base, word.address, word.steps, tuple(general))


def _by_loop(general: _Terms, depths: Mapping[int, int]) -> list[_Terms]:
    """Terms, those together that are made in the same loop."""
    if len(general) == 1:
        return [general]
    found: dict[int, list[tuple[int, Expr]]] = {}
    for by, expr in general:
        found.setdefault(_depth(expr, depths), []).append((by, expr))
    return [tuple(terms) for terms in found.values()]


def _depth(expr: Expr, depths: Mapping[int, int]) -> int:
    """Of the innermost loop around whose variable is in an expression."""
    if expr.op is Op.VAR:
        return depths.get(expr.value, -1)
    return max([_depth(arg, depths) for arg in expr.args], default=-1)


def _is_plain(terms: _Terms) -> bool:
    """Whether it is added in one instruction anyway."""
    return len(terms) == 1 and terms[0][0] in (1, -1)


def _expression(terms: _Terms) -> Expr:
    total = const(0)
    for by, expr in terms:
        total = add(total, mul(expr, const(by)))
    return total
