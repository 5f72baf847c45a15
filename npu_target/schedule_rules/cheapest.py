"""The cheapest of many points, of which few can be looked at closely.

Each point has an estimate.  Looking at one tells by how much its estimate is wrong, and that of
its neighbours is about as wrong.  So the next to look at is the one that is cheapest by estimates
corrected so far; what is far from all that was looked at may be as good as the best of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# What cannot be used is taken to cost, next to its estimate.
_UNUSABLE_RATIO = 16.0
# How far from each other points have errors that are alike; and the share of an error that is a
# point's own.
_ALIKE_DISTANCE = 2.0
_OWN_SHARE = 0.01


def cheapest(
    estimates: np.ndarray,
    positions: np.ndarray,
    cost: Callable[[int], float | None],
    looks: int,
) -> int | None:
    """The index of the cheapest point found.

    Parameters
    ----------
    estimates : of the points' costs, positive, float64 ``[n]``.
    positions : of the points, float64 ``[n, d]``; distances are sums over the ``d`` differences.
    cost : what a point really costs; None where it cannot be used.
    looks : how many points are looked at, and more only as long as none can be used.

    Returns None where no point can be used.
    """
    logs = np.log(estimates)
    looked: list[int] = []
    errors: list[float] = []
    costs: dict[int, float] = {}
    alike = np.empty((0, len(logs)))  # of all points with those that were looked at
    while len(looked) < len(logs) and (len(looked) < looks or not costs):
        corrected = logs + _error(errors, alike, looked)
        corrected[looked] = np.inf
        index = int(np.argmin(corrected))
        found = cost(index)
        if found is not None:
            costs[index] = found
        ratio = _UNUSABLE_RATIO if found is None else found / estimates[index]
        looked.append(index)
        errors.append(float(np.log(ratio)))
        distances = np.abs(positions - positions[index]).sum(axis=1)
        alike = np.vstack([alike, np.exp(-distances / _ALIKE_DISTANCE)])
    return min(costs, key=costs.__getitem__) if costs else None


def _error(errors: list[float], alike: np.ndarray, looked: list[int]) -> np.ndarray:
    """The likely errors of all logarithms, told from those of some: a Gaussian process whose mean
    is the least of them."""
    if not errors:
        return np.zeros(alike.shape[1])
    least = min(errors)
    among = alike[:, looked] + _OWN_SHARE * np.eye(len(looked))
    return least + np.linalg.solve(among, np.array(errors) - least) @ alike
