"""Expressions made simpler by what is known of the loops around them: ranges of values."""

from __future__ import annotations

from collections.abc import Mapping

from ..program import INT64_MAX, INT64_MIN, Expr, Op, const, le, lt
from ..program.expr import MAKE, ZERO

Range = tuple[int, int]  # the least and the greatest value

_ANY = (INT64_MIN, INT64_MAX)
_NEGATED = {Op.LT: le, Op.LE: lt}


class Ranges:
    """Simplifies expressions over loops whose variables have the values ``loops`` says, by loop id;
    of any other variable nothing is known."""

    def __init__(self, loops: Mapping[int, Range]) -> None:
        self.loops = loops
        self._found: dict[Expr, tuple[Expr, Range]] = {}

    def simplified(self, expr: Expr) -> Expr:
        """An expression with the same value wherever the loops' variables have such values."""
        return self._of(expr)[0]

    def of(self, expr: Expr) -> Range:
        """The least and the greatest value, or those of int64 where they are not known."""
        return self._of(expr)[1]

    def _of(self, expr: Expr) -> tuple[Expr, Range]:
        if expr.op is Op.CONST:
            return expr, (expr.value, expr.value)
        if expr.op is Op.VAR:
            return expr, self.loops.get(expr.value, _ANY)
        found = self._found.get(expr)
        if found is None:
            found = self._made(expr)
            self._found[expr] = found
        return found

    def _made(self, expr: Expr) -> tuple[Expr, Range]:
        parts = [self._of(arg) for arg in expr.args]
        args = tuple([part for part, _ in parts])
        ranges = [part for _, part in parts]
        bounds = _bounds(expr.op, ranges)
        if bounds[0] == bounds[1]:
            return const(bounds[0]), bounds
        if expr.op in (Op.MIN, Op.MAX):
            for k in (0, 1):  # one of the two is it
                low, high = ranges[1 - k]
                if ranges[k][1] <= low if expr.op is Op.MIN else ranges[k][0] >= high:
                    return args[k], ranges[k]
        if expr.op is Op.FLOOR_MOD and ranges[0][0] >= 0 and ranges[0][1] < ranges[1][0]:
            return args[0], bounds
        if expr.op is Op.EQ and args[1] == ZERO and args[0].op in _NEGATED:
            a, b = args[0].args
            return _NEGATED[args[0].op](b, a), bounds
        same = all(new is old for new, old in zip(args, expr.args, strict=True))
        return (expr if same else MAKE[expr.op](*args)), bounds


def _bounds(op: Op, ranges: list[Range]) -> Range:
    """The range of an operation's result.  What may wrap around is not known."""
    (a, b), (c, d) = ranges[0], ranges[1]
    if op is Op.TABLE:
        words = [word for word, _ in ranges[1:]][max(a, 0) : b + 1] or [INT64_MIN, INT64_MAX]
        return min(words), max(words)
    if op is Op.ADD:
        bounds = a + c, b + d
    elif op is Op.SUB:
        bounds = a - d, b - c
    elif op is Op.MUL:
        products = (a * c, a * d, b * c, b * d)
        bounds = min(products), max(products)
    elif op is Op.MIN:
        bounds = min(a, c), min(b, d)
    elif op is Op.MAX:
        bounds = max(a, c), max(b, d)
    elif op is Op.FLOOR_DIV and c == d > 0:
        bounds = a // c, b // c
    elif op is Op.FLOOR_MOD and c == d > 0:
        bounds = (a % c, b % c) if a // c == b // c else (0, c - 1)
    elif op is Op.LT:
        bounds = int(b < c), int(a < d)
    elif op is Op.LE:
        bounds = int(b <= c), int(a <= d)
    elif op is Op.EQ:
        bounds = int(a == b == c == d), int(a <= d and c <= b)
    elif op is Op.AND:
        bounds = (
            int(not _may_be_zero(a, b) and not _may_be_zero(c, d)),
            int((a, b) != (0, 0) and (c, d) != (0, 0)),
        )
    elif op is Op.OR:
        bounds = (
            int(not _may_be_zero(a, b) or not _may_be_zero(c, d)),
            int((a, b) != (0, 0) or (c, d) != (0, 0)),
        )
    elif op is Op.SELECT:
        e, f = ranges[2]
        bounds = min(c, e), max(d, f)
    else:
        return _ANY
    return bounds if bounds[0] >= INT64_MIN and bounds[1] <= INT64_MAX else _ANY


def _may_be_zero(least: int, greatest: int) -> bool:
    return least <= 0 <= greatest
