"""Bounds of expressions: no value lies outside, and what they tell apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate
from program_strategies import expressions

from npu_target.program.c.bounds import bounds
from npu_target.program.expr import (
    INT64_MAX,
    Expr,
    const,
    floor_div,
    floor_mod,
    maximum,
    minimum,
    var,
)

EXTENTS = {0: 3, 1: 5}


def told(expr: Expr) -> tuple[int, int] | None:
    return bounds(expr, lambda loop_id: (0, EXTENTS[loop_id] - 1))


@given(expressions((0, 1)), st.integers(0, 2), st.integers(0, 4))
def test_every_value_is_between(expr: Expr, i: int, j: int) -> None:
    found = told(expr)
    if found is not None:
        assert found[0] <= evaluate(expr, {0: i, 1: j}) <= found[1]


i, j = var(0), var(1)


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (2 * i + 3 - j, (-1, 7)),
        (floor_mod(4 * i + j, 7), (0, 6)),
        (floor_div(j - 3, 2), (-2, 0)),
        (maximum(j - 3, 0), (0, 1)),
        (minimum(j - 3, const(0)), (-3, 0)),
        (i * (j - 2), (-4, 4)),
        (floor_div(j, i), None),
        (i * INT64_MAX, None),
    ],
)
def test_bounds_are_tight(expr: Expr, wanted: tuple[int, int] | None) -> None:
    assert told(expr) == wanted
