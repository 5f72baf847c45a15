"""Sets of rows against those that are counted one by one."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.rows import form_period, mask_of, rows_over
from npu_target.passes.linear import Linear, combine

LOOPS = {1: range(2, 7), 2: range(4), -3: range(1, 2)}


@st.composite
def forms(draw: st.DrawFn) -> Linear:
    """Sums over loops, of what they are modulo a number, and divided by one; never below 0."""
    form = Linear(draw(st.integers(0, 5)) + 100)
    for loop_id in LOOPS:
        form = form + Linear.loop(loop_id) * draw(st.integers(-5, 5))
    if draw(st.booleans()):
        inner = Linear.loop(1) * draw(st.integers(0, 3)) + Linear.loop(2) + draw(st.integers(0, 3))
        op = draw(st.sampled_from(["floormod", "floordiv"]))
        atom = combine(op, inner, Linear(draw(st.integers(2, 4))))
        form = form + atom * draw(st.integers(1, 9))
    return form


def values_of(form: Linear) -> list[int]:
    return [
        form.substitute(dict(zip(LOOPS, map(Linear, values), strict=True))).const
        for values in itertools.product(*LOOPS.values())
    ]


@given(forms(), st.sets(st.integers(0, 9), min_size=1))
def test_rows_are_those_of_all_iterations(form: Linear, offsets: set[int]) -> None:
    expected = mask_of(value + offset for value in values_of(form) for offset in offsets)
    assert rows_over(form, LOOPS, mask_of(offsets)) == expected


@given(forms(), st.sampled_from(list(LOOPS)))
def test_a_period_is_one(form: Linear, loop_id: int) -> None:
    period = form_period(form, loop_id)
    if period is None:
        return
    others = {key: Linear(values[0]) for key, values in LOOPS.items() if key != loop_id}
    for value in range(12):
        here, later = (
            form.substitute({**others, loop_id: Linear(at)}) for at in (value, value + period)
        )
        assert here == later


def test_too_many_values_are_not_gone_through() -> None:
    form = combine("floordiv", Linear.loop(0) + Linear.loop(1), Linear(3))
    assert rows_over(form, {0: range(100), 1: range(100)}, 1) is None
    versions = combine("floormod", Linear.loop(0) + Linear.loop(1), Linear(2))
    assert rows_over(versions, {0: range(10**6), 1: range(10**6)}, 1) == 0b11
