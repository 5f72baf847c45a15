"""How much of each stretch of time is covered by intervals."""

from __future__ import annotations

import numpy as np


def coverage(
    starts: np.ndarray,
    ends: np.ndarray,
    groups: np.ndarray,
    n_groups: int,
    edges: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Cycles of intervals [start, end) of each group between consecutive edges.

    starts, ends, groups : [n], integers; intervals may overlap, and count each.
    edges : [m + 1], ascending.
    weights : [n], by which intervals count; 1 by default.

    Returns float64 [n_groups, m].
    """
    if weights is None:
        weights = np.ones(len(starts))
    passed = _passed(starts, groups, n_groups, edges, weights)
    passed -= _passed(ends, groups, n_groups, edges, weights)
    return np.diff(passed, axis=1)


def time_edges(cycles: int, most: int) -> np.ndarray:
    """The ends of so many equal columns at most, whole cycles each, from 0 to `cycles`."""
    columns = max(1, min(most, cycles))
    return np.linspace(0, cycles, columns + 1).round().astype(np.int64)


def _passed(
    times: np.ndarray, groups: np.ndarray, n_groups: int, edges: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """[n_groups, m + 1]: the sum over times before an edge of how long before it they are."""
    places = groups * len(edges) + np.searchsorted(edges, times, side="left")
    size = n_groups * (len(edges) + 1)
    inside = places - groups * len(edges) < len(edges)  # what is behind the last edge never counts
    places, weights, times = places[inside], weights[inside], times[inside]

    def before(values: np.ndarray) -> np.ndarray:
        sums = np.bincount(places, values, size)[: n_groups * len(edges)]
        return sums.reshape(n_groups, len(edges)).cumsum(axis=1)

    return before(weights) * edges - before(weights * times)
