"""The cheapest of many points, found with few looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.schedule_rules.cheapest import cheapest

sizes = st.integers(1, 40)
seeds = st.integers(0, 2**32 - 1)


def points(seed: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates, positions and costs."""
    random = np.random.default_rng(seed)
    positions = random.uniform(0, 6, (number, 3))
    return random.uniform(1, 9, number), positions, random.uniform(1, 9, number)


@given(seeds, sizes, st.integers(1, 12))
def test_the_best_of_what_was_looked_at_and_no_more_looks_than_asked_for(seed, number, looks):
    estimates, positions, costs = points(seed, number)
    seen = []

    def cost(index):
        seen.append(index)
        return costs[index]

    found = cheapest(estimates, positions, cost, looks)
    assert len(seen) == len(set(seen)) == min(looks, number)
    assert seen[0] == np.argmin(estimates)
    assert costs[found] == min(costs[seen])


@given(seeds, sizes)
def test_estimates_that_hold_need_one_look(seed, number):
    estimates, positions, _ = points(seed, number)
    assert cheapest(estimates, positions, lambda index: estimates[index], 1) == np.argmin(estimates)


@given(seeds, sizes, st.data())
def test_what_cannot_be_used_is_passed_over(seed, number, data):
    estimates, positions, costs = points(seed, number)
    usable = data.draw(st.sets(st.integers(0, number - 1)))

    def cost(index):
        return costs[index] if index in usable else None

    found = cheapest(estimates, positions, cost, 3)
    assert found in usable if usable else found is None


@pytest.mark.parametrize("best", [(1, 1), (6, 2), (0, 7)])
def test_what_estimates_do_not_tell_is_told_by_neighbours(best):
    """All estimates are alike, costs grow with the distance from one of 64 points."""
    positions = np.array([(x, y) for x in range(8) for y in range(8)], dtype=float)
    costs = 100 * 1.5 ** np.abs(positions - best).sum(axis=1)
    found = cheapest(np.full(64, 100.0), positions, lambda index: costs[index], 16)
    assert costs[found] <= 150  # the best is 100, the median 760


def test_what_is_far_from_all_that_disappointed_is_tried():
    """Many points that are cheap by their estimates and take half as much again, and one far
    away that seems dearer and is not."""
    near = [(x / 2, y / 2) for x in range(6) for y in range(6)]
    estimates = np.array([*np.linspace(100, 101, len(near)), 110])
    costs = np.array([*(1.5 * estimates[:-1]), 110])
    positions = np.array([*near, (20, 20)], dtype=float)
    assert cheapest(estimates, positions, lambda index: costs[index], 16) == len(near)
