"""Ranges of expressions, and expressions that they make simpler."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate
from program_strategies import expressions

from npu_target.program import (
    Expr,
    const,
    floor_mod,
    le,
    logical_not,
    lt,
    maximum,
    minimum,
    select,
    var,
)
from npu_target.rewrite.ranges import Ranges

RANGES = st.tuples(st.integers(-9, 9), st.integers(0, 4)).map(lambda r: (r[0], r[0] + r[1]))


@given(expressions((1, 2)), RANGES, RANGES)
def test_the_value_stays(expr: Expr, first: tuple[int, int], second: tuple[int, int]) -> None:
    simpler = Ranges({1: first, 2: second}).simplified(expr)
    values = [range(least, most + 1) for least, most in (first, second)]
    for one, two in itertools.product(*values):
        assert evaluate(simpler, {1: one, 2: two}) == evaluate(expr, {1: one, 2: two})


@given(expressions((1, 7)), RANGES, st.integers())
def test_the_value_stays_whatever_other_variables_are(
    expr: Expr, first: tuple[int, int], other: int
) -> None:
    other = max(-(2**63), min(2**63 - 1, other))
    simpler = Ranges({1: first}).simplified(expr)
    for one in range(first[0], first[1] + 1):
        assert evaluate(simpler, {1: one, 7: other}) == evaluate(expr, {1: one, 7: other})


A, B = var(1), var(2)
LEFT = minimum(16, 109 - 16 * floor_mod(B, 7))  # rows of the last tile


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (le(0, A), const(1)),
        (lt(A, 0), const(0)),
        (le(0, 8 * B - 1 + A), le(0, 8 * B - 1 + A)),
        (le(0, 8 * B + A), const(1)),
        (LEFT, LEFT),
        (maximum(0, LEFT), LEFT),
        (minimum(A, 5), A),
        (floor_mod(A, 8), A),
        (logical_not(le(A, 2)), lt(2, A)),
        (logical_not(lt(A, 2)), le(2, A)),
        (select(le(0, A), A, B), select(1, A, B)),
    ],
)  # fmt: skip
def test_examples(expr: Expr, expected: Expr) -> None:
    assert Ranges({1: (0, 5), 2: (0, 50)}).simplified(expr) == expected
