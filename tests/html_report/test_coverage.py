"""How much of each stretch of time intervals cover."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npu_target.html_report.coverage import coverage, time_edges

INTERVAL = st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(0, 2), st.integers(0, 3))


@given(st.lists(INTERVAL, max_size=12), st.lists(st.integers(0, 80), min_size=2, unique=True))
def test_it_is_what_counting_cycles_gives(intervals, edges):
    edges = np.array(sorted(edges))
    starts, lengths, groups, weights = (
        np.array([each[part] for each in intervals], dtype=np.int64) for part in range(4)
    )
    found = coverage(starts, starts + lengths, groups, 3, edges, weights)
    cycles = np.zeros((3, 100))
    for start, length, group, weight in intervals:
        cycles[group, start : start + length] += weight
    counted = [cycles[:, a:b].sum(axis=1) for a, b in pairwise(edges)]
    np.testing.assert_allclose(found, np.stack(counted, axis=1))


@given(st.integers(0, 10_000), st.integers(1, 300))
def test_columns_are_whole_cycles_and_alike(cycles, most):
    edges = time_edges(cycles, most)
    assert edges[0] == 0 and edges[-1] == cycles
    widths = np.diff(edges)
    assert len(widths) <= most
    assert widths.max() - widths.min() <= 1
    assert widths.min() >= 1 or cycles == 0
