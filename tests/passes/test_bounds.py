"""What forms over loops can be, against all their points."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npu_target.passes.bounds import implies, least
from npu_target.passes.linear import Linear, combine

EXTENTS = {0: 3, 1: 4, 2: 2}
VARIABLES = st.sampled_from([Linear.loop(loop_id) for loop_id in EXTENTS])
SUMS = st.builds(
    lambda x, y, a, b, c: x * a + y * b + c,
    VARIABLES,
    VARIABLES,
    *(st.integers(-5, 5) for _ in range(3)),
)
FORMS = st.one_of(
    SUMS,
    st.builds(
        lambda op, form, divisor, other: combine(op, form, Linear(divisor)) + other,
        st.sampled_from(["floordiv", "floormod", "min", "max"]),
        SUMS,
        st.integers(1, 5),
        SUMS,
    ),
)


def values(form: Linear) -> list[int]:
    points = itertools.product(*(range(extent) for extent in EXTENTS.values()))
    return [form.substitute(dict(enumerate(map(Linear, point)))).const for point in points]


@given(FORMS)
def test_nothing_is_below_the_least(form: Linear) -> None:
    assert least(form, EXTENTS) <= min(values(form))


@given(SUMS)
def test_the_least_of_a_sum_is_reached(form: Linear) -> None:
    assert least(form, EXTENTS) == min(values(form))


@given(st.lists(FORMS, max_size=3), FORMS)
def test_implication_is_that_of_all_points(conditions: list[Linear], wanted: Linear) -> None:
    rows = np.array([values(form) for form in conditions]).reshape(len(conditions), 24)
    given_hold = np.all(rows >= 0, axis=0)
    holds = bool(np.all((np.array(values(wanted)) >= 0) | ~given_hold))
    assert implies(conditions, wanted, EXTENTS) == holds
