"""Expressions: folding never changes a value."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate
from program_strategies import INT64S, expressions

from npu_target.program import expr
from npu_target.program.expr import Expr, Op, ProgramError, const, var

LOOPS = (0, 7)
BUILDERS: dict[Op, Callable[..., Expr]] = {
    Op.ADD: expr.add,
    Op.SUB: expr.sub,
    Op.MUL: expr.mul,
    Op.FLOOR_DIV: expr.floor_div,
    Op.FLOOR_MOD: expr.floor_mod,
    Op.MIN: expr.minimum,
    Op.MAX: expr.maximum,
    Op.LT: expr.lt,
    Op.LE: expr.le,
    Op.EQ: expr.eq,
    Op.AND: expr.logical_and,
    Op.OR: expr.logical_or,
    Op.SELECT: expr.select,
    Op.TABLE: lambda index, *words: expr.table(index, [word.value for word in words]),
}


def rebuilt(tree: Expr) -> Expr:
    """The same computation through the folding constructors."""
    if tree.op in (Op.CONST, Op.VAR):
        return tree
    return BUILDERS[tree.op](*map(rebuilt, tree.args))


@given(expressions(LOOPS, max_leaves=20), INT64S, INT64S)
def test_folding_keeps_the_value(tree: Expr, a: int, b: int) -> None:
    values = {0: a, 7: b}
    assert evaluate(rebuilt(tree), values) == evaluate(tree, values)


@given(expressions((), max_leaves=20))
def test_constants_fold_completely(tree: Expr) -> None:
    folded = rebuilt(tree)
    assert folded.is_const
    assert folded.value == evaluate(tree, {})


@given(expressions(LOOPS), expressions(LOOPS))
def test_equality_is_structural(a: Expr, b: Expr) -> None:
    copy = Expr(a.op, a.value, tuple(Expr(x.op, x.value, x.args) for x in a.args))
    assert copy == a
    assert hash(copy) == hash(a)
    assert (a == b) == (repr(a) == repr(b))


i, j = var(0), var(7)


def test_an_entry_that_is_none_of_a_table_stays_one() -> None:
    """It is an error where it is evaluated, which conditions may prevent."""
    assert expr.table(i, [5, 5]) == expr.table(const(1), [3, 5]) == const(5)
    outside = expr.table(const(2), [3, 5])
    assert not outside.is_const and not expr.table(const(-1), [3, 5]).is_const
    with pytest.raises(ProgramError, match="no words"):
        expr.table(i, [])


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (i + 0, i),
        (0 + i, i),
        (i * 1, i),
        (i * 0, const(0)),
        (i - 0, i),
        (i - i, const(0)),
        ((i + 3) + 4, i + 7),
        ((i + 3) - 3, i),
        ((i * 3) * 4, i * 12),
        (3 + i, i + 3),
        (i // 1, i),
        (i % 1, const(0)),
        (expr.minimum(i, i), i),
        (expr.minimum(4, expr.minimum(i, 3)), expr.minimum(i, 3)),
        (expr.maximum(i, i), i),
        (expr.lt(i, i), const(0)),
        (expr.le(i, i), const(1)),
        (expr.eq(i, i), const(1)),
        (expr.logical_and(expr.lt(i, j), 5), expr.lt(i, j)),
        (expr.logical_and(i, 0), const(0)),
        (expr.logical_or(0, expr.lt(i, j)), expr.lt(i, j)),
        (expr.logical_or(i, 7), const(1)),
        (expr.select(1, i, j), i),
        (expr.select(0, i, j), j),
        (expr.select(i, j, j), j),
        (-i, i * -1),
        (5 - i, Expr(Op.SUB, args=(const(5), i))),
    ],
)
def test_simplifications(built: Expr, expected: Expr) -> None:
    assert built == expected


def test_and_of_a_number_is_not_that_number() -> None:
    assert evaluate(expr.logical_and(i, 1), {0: 5}) == 1


def test_arithmetic_wraps() -> None:
    assert (const(2**63 - 1) + 1).value == -(2**63)
    assert (const(-(2**63)) // -1).value == -(2**63)
    assert expr.sub(i, -(2**63)) == Expr(Op.ADD, args=(i, const(-(2**63))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: i // 0, r"var\(0\) // 0: division by zero"),
        (lambda: i % 0, r"var\(0\) % 0: division by zero"),
        (lambda: const(2**63), "needs an int64"),
        (lambda: var(-1), "loop id -1"),
        (lambda: var(2**32), "loop id 4294967296"),
    ],
)
def test_what_cannot_be_built(make: Callable[[], Expr], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        make()


@given(st.lists(INT64S, min_size=1))
def test_wrap(values: list[int]) -> None:
    total = sum(values)
    wrapped = expr.wrap_int64(total)
    assert -(2**63) <= wrapped < 2**63
    assert (wrapped - total) % 2**64 == 0
