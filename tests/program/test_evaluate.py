"""Expressions in all iterations of loops, against one iteration after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate

from npu_target.program import Expr, Op, add, const, floor_mod, logical_and, mul, table, var
from npu_target.program.evaluate import evaluated, share_of_comparison

OUTER, INNER = 0, 3  # ids of loops


_OTHERS = (Op.CONST, Op.VAR, Op.SELECT, Op.FLOOR_DIV, Op.FLOOR_MOD, Op.TABLE)


def _node(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    two = [op for op in Op if op not in _OTHERS]
    divisors = st.integers(1, 5).map(const)
    return st.one_of(
        st.builds(lambda op, a, b: Expr(op, args=(a, b)), st.sampled_from(two), children, children),
        st.builds(
            lambda op, a, b: Expr(op, args=(a, b)),
            st.sampled_from([Op.FLOOR_DIV, Op.FLOOR_MOD]),
            children,
            divisors,
        ),
        st.builds(lambda *args: Expr(Op.SELECT, args=args), children, children, children),
        children.map(lambda value: table(floor_mod(value, 3), [4, -7, 0])),
    )


# Small numbers, which do not wrap: extents and addresses do not either.
SMALL = st.recursive(
    st.integers(-9, 9).map(const) | st.sampled_from([var(OUTER), var(INNER)]), _node, max_leaves=8
)


@given(SMALL, st.integers(1, 5), st.integers(1, 4))
def test_all_iterations(tree: Expr, outer: int, inner: int) -> None:
    loops = var(OUTER), var(INNER)
    # With both loops in it, there is an axis for each.
    values = evaluated(
        Expr(Op.SELECT, args=(const(1), tree, Expr(Op.ADD, args=loops))),
        {OUTER: outer, INNER: inner},
        20,
    )
    wanted = [[evaluate(tree, {OUTER: i, INNER: j}) for j in range(inner)] for i in range(outer)]
    np.testing.assert_array_equal(values, wanted)


def test_axes_are_in_the_order_of_ids() -> None:
    values = evaluated(add(mul(var(9), 10), var(2)), {2: 3, 9: 2, 5: 7}, 6)
    np.testing.assert_array_equal(values, [[0, 10], [1, 11], [2, 12]])


def test_none_where_it_is_not_known_or_too_much() -> None:
    assert evaluated(var(1), {2: 3}, 100) is None
    assert evaluated(add(var(1), var(2)), {1: 3, 2: 3}, 8) is None


@given(
    st.sampled_from([Op.LT, Op.LE, Op.EQ]), st.integers(1, 40), st.integers(-5, 45), st.booleans()
)
def test_share_of_a_comparison_is_the_mean_of_its_values(
    op: Op, extent: int, number: int, is_first: bool
) -> None:
    pair = (var(INNER), const(number)) if is_first else (const(number), var(INNER))
    condition = Expr(op, args=pair)
    values = evaluated(condition, {INNER: extent}, extent)
    assert values is not None
    assert share_of_comparison(condition, {INNER: extent}) == float(values.mean())


@pytest.mark.parametrize(
    "value",
    [
        var(INNER),
        Expr(Op.LE, args=(var(INNER), var(OUTER))),
        Expr(Op.LE, args=(const(2), add(var(INNER), var(OUTER)))),
        logical_and(Expr(Op.LE, args=(const(2), var(INNER))), var(OUTER)),
        Expr(Op.LE, args=(const(2), var(5))),
        Expr(Op.LE, args=(const(2), const(3))),
    ],
)
def test_no_share_of_other_expressions(value: Expr) -> None:
    assert share_of_comparison(value, {INNER: 4, OUTER: 4}) is None
