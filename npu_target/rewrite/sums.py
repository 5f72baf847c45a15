"""Sums of general expressions that several operands have, made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..program import Address, Command, Expr, Loop, Node, Op, Operand, add, const, mul

_Terms = tuple[tuple[int, Expr], ...]
# Where a sum runs: an address, and the steps along loops.
_Runs = tuple[Address | None, tuple[tuple[int, int], ...]]


def shared(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same commands; a sum that operands have which run differently is one expression, so that
    each of them adds it in one instruction instead of multiplying and adding every term."""
    users: dict[_Terms, set[_Runs]] = {}
    _count(nodes, {}, users)
    often = {terms: _expression(terms) for terms, runs in users.items() if len(runs) > 1}
    return _shared(nodes, {}, often) if often else nodes


def _count(
    nodes: Sequence[Node], depths: Mapping[int, int], users: dict[_Terms, set[_Runs]]
) -> None:
    for node in nodes:
        if isinstance(node, Loop):
            _count(node.body, {**depths, node.loop_id: len(depths)}, users)
            continue
        for word in (node.rs1, node.rs2):
            if word.general:
                for terms in _by_loop(word.general, depths):
                    if not _is_plain(terms):
                        users.setdefault(terms, set()).add((word.address, word.steps))


def _shared(
    nodes: Sequence[Node], depths: Mapping[int, int], often: Mapping[_Terms, Expr]
) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            body = _shared(node.body, {**depths, node.loop_id: len(depths)}, often)
            found.append(Loop(node.loop_id, node.extent, body))
        elif node.rs1.general or node.rs2.general:
            words = [_with_sums(word, depths, often) for word in (node.rs1, node.rs2)]
            found.append(Command(node.funct, *words))
        else:
            found.append(node)
    return tuple(found)


def _with_sums(word: Operand, depths: Mapping[int, int], often: Mapping[_Terms, Expr]) -> Operand:
    general: list[tuple[int, Expr]] = []
    for terms in _by_loop(word.general, depths):
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
