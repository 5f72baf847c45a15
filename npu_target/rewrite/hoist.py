"""Sums made where they change least: what a loop does not change is added up outside of it, and a
condition compares what the innermost loop changes with what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_

from ..program import (
    BOOLEAN_OPS,
    INT64_MAX,
    INT64_MIN,
    Command,
    Expr,
    Loop,
    Node,
    Op,
    Operand,
    add,
    const,
    eq,
    floor_div,
    le,
    lt,
    mul,
    sub,
    var,
    wrap_int64,
)
from ..program.expr import MAKE, ZERO
from .ranges import Range, Ranges

_COMPARE = {Op.LT: lt, Op.LE: le, Op.EQ: eq}
_SUMS = frozenset({Op.ADD, Op.SUB, Op.MUL})
# Of a sum's terms together: numbers below do not come near to where they wrap around.
_FAR = INT64_MAX // 4


def hoisted(nodes: tuple[Node, ...], hoists: Hoists | None = None) -> tuple[Node, ...]:
    """The same commands, with fewer operations in the inner loops.  ``hoists`` keep what is made
    of nodes."""
    return _hoisted(nodes, (), {}, hoists or Hoists())


class Hoists:
    """Of the places in a program: expressions there, and what became of the nodes."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[_Hoist, dict[int, tuple[Node, Node]]]] = {}

    def at(
        self, around: tuple[int, ...], loops: Mapping[int, Range]
    ) -> tuple[_Hoist, dict[int, tuple[Node, Node]]]:
        """Inside of these loops; nodes by their `id`, each with what it became."""
        place = around, tuple(loops.items())
        found = self._found.get(place)
        if found is None:
            found = self._found[place] = _Hoist(around, loops), {}
        return found


def _hoisted(
    nodes: tuple[Node, ...],
    around: tuple[int, ...],
    loops: Mapping[int, Range],
    hoists: Hoists,
) -> tuple[Node, ...]:
    """A body inside of loops with these ids, outermost first, and values of their variables."""
    hoist, made = hoists.at(around, loops)
    found: list[Node] = []
    for before in nodes:
        node = before
        if isinstance(node, Command) and not node.rs1.general and not node.rs2.general:
            found.append(node)
            continue
        known = made.get(id(node))
        if known is not None:
            found.append(known[1])
            continue
        if isinstance(node, Command):
            node = Command(node.funct, hoist.operand(node.rs1), hoist.operand(node.rs2))
            made[id(before)] = before, node
            found.append(node)
            continue
        extent, inside, inner = node.extent, (*around, node.loop_id), loops
        if extent.op in BOOLEAN_OPS:
            inside = around
            inner = {**loops, node.loop_id: (0, 0)}
        elif extent.op is Op.CONST:
            inner = {**loops, node.loop_id: (0, max(0, extent.value - 1))}
        elif node.loop_id in loops:
            inner = {
                loop_id: values for loop_id, values in loops.items() if loop_id != node.loop_id
            }
        body = _hoisted(node.body, inside, inner, hoists)
        extent = hoist.expression(extent)
        if body is not node.body or extent is not node.extent:
            node = Loop(node.loop_id, extent, body)
        made[id(before)] = before, node
        found.append(node)
    if all(map(is_, found, nodes)):
        return nodes
    return tuple(found)


class _Sum:
    """A number and multiples of expressions."""

    def __init__(self, number: int, terms: list[tuple[int, Expr]]) -> None:
        self.number = number
        self.terms = terms

    def times(self, factor: int) -> _Sum:
        return _Sum(self.number * factor, [(by * factor, what) for by, what in self.terms])

    def plus(self, number: int) -> _Sum:
        return _Sum(self.number + number, self.terms)


class _Hoist:
    """Expressions at one place of a program."""

    def __init__(self, around: tuple[int, ...], loops: Mapping[int, Range]) -> None:
        self.depths = {loop_id: depth for depth, loop_id in enumerate(around, 1)}
        self.ranges = Ranges(loops)
        self._found: dict[Expr, Expr] = {}
        self._depth: dict[Expr, int] = {}

    def operand(self, word: Operand) -> Operand:
        """The word, its expressions made so."""
        general = [(by, self.expression(expr)) for by, expr in word.general]
        return Operand(word.base, word.address, word.steps, tuple(general))

    def expression(self, expr: Expr) -> Expr:
        """An expression with the same value."""
        if expr.op is Op.CONST or expr.op is Op.VAR:
            return expr
        found = self._found.get(expr)
        if found is None:
            found = self._found[expr] = self._made(expr)
        return found

    def _made(self, expr: Expr) -> Expr:
        if expr.op in _SUMS:
            parts = self.sum_of(expr)
            if parts.terms != [(1, expr)]:
                return self.total(parts)
        if expr.op in _COMPARE and expr.args[0].op not in BOOLEAN_OPS:
            if all([arg.op is Op.VAR or arg.op is Op.CONST for arg in expr.args]):
                return expr
            parts = self.sum_of(sub(expr.args[1], expr.args[0]))
            if self.is_small(parts) and parts.terms:
                return self.comparison(expr.op, parts)
        args = [self.expression(arg) for arg in expr.args]
        return expr if all(map(is_, args, expr.args)) else MAKE[expr.op](*args)

    def sum_of(self, expr: Expr) -> _Sum:
        word = Operand.of(expr)
        terms = [(by, var(loop_id)) for loop_id, by in word.steps]
        terms += word.general
        # A product is what it was.
        terms = [(by, what if what is expr else self.expression(what)) for by, what in terms]
        terms.sort(key=lambda term: self.depth(term[1]))
        return _Sum(wrap_int64(word.base), terms)

    def total(self, parts: _Sum) -> Expr:
        """The sum, terms of outer loops first."""
        total = const(wrap_int64(parts.number))
        for by, what in parts.terms:
            if by == -1 and total is not ZERO:
                total = sub(total, what)
            else:
                total = add(total, mul(what, const(wrap_int64(by))))
        return total

    def comparison(self, op: Op, parts: _Sum) -> Expr:
        """0 compared with a sum: terms of the innermost loop on one side, others on the other."""
        deepest = self.depth(parts.terms[-1][1])
        inner = [term for term in parts.terms if self.depth(term[1]) == deepest]
        outer = _Sum(parts.number, [term for term in parts.terms if term not in inner])
        if len(inner) > 1:
            if inner[0][0] < 0:
                return _COMPARE[op](self.total(_Sum(0, inner).times(-1)), self.total(outer))
            return _COMPARE[op](self.total(outer.times(-1)), self.total(_Sum(0, inner)))
        by, what = inner[0]
        size = abs(by)
        if op is Op.EQ:
            other = self.total(outer if by < 0 else outer.times(-1))
            if other.op is not Op.CONST:
                return eq(mul(what, const(size)), other)
            return eq(what, const(other.value // size)) if other.value % size == 0 else ZERO
        if op is Op.LT:
            outer = outer.plus(-1)
        if outer.terms:  # no division for what may be shared with other conditions
            what, size = mul(what, const(size)), 1
        if by < 0:
            return le(what, floor_div(self.total(outer), const(size)))
        return le(floor_div(self.total(outer.times(-1).plus(size - 1)), const(size)), what)

    def depth(self, expr: Expr) -> int:
        """Of the innermost loop around whose variable is in an expression: 0 if none is."""
        if expr.op is Op.VAR:
            return self.depths.get(expr.value, 0)
        if expr.op is Op.CONST:
            return 0
        found = self._depth.get(expr)
        if found is None:
            found = self._depth[expr] = max([self.depth(arg) for arg in expr.args])
        return found

    def is_small(self, parts: _Sum) -> bool:
        """Whether no sum of some of the terms wraps around."""
        most = abs(parts.number)
        for by, what in parts.terms:
            low, high = self.ranges.of(what)
            if low == INT64_MIN or high == INT64_MAX:
                return False
            most += abs(by) * max(abs(low), abs(high))
        return most < _FAR
