"""What engines did over time, brought to a size that a page can hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npu_target.html_report.lanes import fewer, joined, spans

INTERVALS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 20)), max_size=40)


def arrays(intervals):
    starts = np.array([start for start, _ in intervals], dtype=np.int64)
    return starts, starts + np.array([length for _, length in intervals], dtype=np.int64)


def cycles(starts, ends) -> set[int]:
    return {cycle for a, b in zip(starts, ends, strict=True) for cycle in range(a, b)}


@given(INTERVALS)
def test_joined_intervals_cover_the_same_cycles_apart_from_each_other(intervals):
    given_starts, given_ends = arrays(intervals)
    starts, ends = joined(given_starts, given_ends)
    assert cycles(starts, ends) == cycles(given_starts, given_ends)
    assert (starts < ends).all() and (ends[:-1] < starts[1:]).all()


@given(INTERVALS, st.integers(1, 12))
def test_fewer_intervals_close_the_smallest_gaps_and_say_how_large_they_were(intervals, most):
    before = joined(*arrays(intervals))
    starts, ends, closed = fewer(*before, most)
    assert len(starts) <= most
    filled = cycles(starts, ends) - cycles(*before)
    assert cycles(*before) <= cycles(starts, ends)
    assert bool(filled) == (len(before[0]) > most) == (closed > 0)
    assert (starts[1:] - ends[:-1] > closed).all()
    gaps = before[0][1:] - before[1][:-1]
    assert len(filled) == gaps[gaps <= closed].sum()


@given(INTERVALS)
def test_spans_are_gaps_and_lengths(intervals):
    starts, ends = joined(*arrays(intervals))
    edges = np.cumsum(spans(starts, ends), dtype=np.int64).reshape(-1, 2)
    assert edges[:, 0].tolist() == starts.tolist()
    assert edges[:, 1].tolist() == ends.tolist()
