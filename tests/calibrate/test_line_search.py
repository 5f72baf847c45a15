"""The best value of one field."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from npu_target.calibrate.line_search import LineSearch

LEAST, MOST = 0, 2**31 - 1


@given(
    st.integers(0, 20_000),
    st.integers(0, 20_000),
    st.sampled_from([0.5, 1, 2]),
    st.floats(0.1, 100),
)
def test_it_finds_the_best_of_what_has_one_valley(
    best: int, now: int, power: float, steeper: float
) -> None:
    """To the unit for small values, to a share for large ones; on both sides as steep or not."""

    def cost(value: int) -> float:
        return (steeper if value > best else 1) * abs(value - best) ** power

    for found in (
        LineSearch(cost, now, LEAST, MOST).fine(),
        LineSearch(cost, now, LEAST, MOST).near(),
    ):
        assert found.cost == cost(found.value)
        assert abs(found.value - best) <= 0.01 * best


@given(st.integers(0, 100), st.integers(0, 50), st.integers(50, 100))
def test_it_stays_within_the_limits(best: int, least: int, most: int) -> None:
    tried = []

    def cost(value: int) -> float:
        tried.append(value)
        return abs(value - best)

    found = LineSearch(cost, least, least, most).fine()
    assert all(least <= value <= most for value in tried)
    assert len(tried) == len(set(tried))
    assert found.value == min(max(best, least), most)


@given(st.integers(0, 10_000))
def test_of_values_that_cost_the_same_the_old_one_stays(now: int) -> None:
    assert LineSearch(lambda value: 1.0, now, LEAST, MOST).fine().value == now


@given(st.integers(1, 1000))
def test_values_that_no_device_can_have_are_none(now: int) -> None:
    def cost(value: int) -> float:
        return math.inf if value % 2 else abs(value - 2 * now)

    assert math.isfinite(LineSearch(cost, now, LEAST, MOST).fine().cost)
