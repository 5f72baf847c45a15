"""What forms over loops can be, against all their points."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npu_target.passes.bounds import counting, implies, least
from npu_target.passes.linear import Atom, Linear, combine

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


@given(FORMS)
def test_what_counts_takes_one_value_after_the_other(form: Linear) -> None:
    def walk(order: tuple[int, ...]) -> list[int]:
        points = itertools.product(*(range(EXTENTS[loop_id]) for loop_id in order))
        at = [dict.fromkeys(EXTENTS, 0) | dict(zip(order, point, strict=True)) for point in points]
        return [form.substitute({k: Linear(v) for k, v in one.items()}).const for one in at]

    def counts(order: tuple[int, ...]) -> bool:
        return all(b - a == 1 for a, b in itertools.pairwise(walk(order)))

    order = counting(form, EXTENTS)
    walked = [loop_id for loop_id in EXTENTS if form.depends_on(loop_id)]
    if order is None:
        # A form that is no sum may count all the same; nobody needs to know.
        assert any(type(key) is Atom for key, _ in form.items) or not any(
            map(counts, itertools.permutations(walked))
        )
    else:
        assert sorted(order) == walked and counts(tuple(order))
