"""Where the cycles went, over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device.profile import LaneKind, ProfileTerms
from .coverage import coverage, time_edges

COLUMNS = 240

_CONFLICT = "bank_conflict"


def reasons_over_time(slices: np.ndarray, terms: ProfileTerms, cycles: int) -> dict[str, Any]:
    """`edges` : of columns of equal width. `cycles` : by reason, how many of each column's."""
    keys = list(terms.reasons)
    edges = time_edges(cycles, COLUMNS)
    numbers = [n for n, lane in enumerate(terms.lanes) if lane.kind is LaneKind.REASONS]
    mine = slices[np.isin(slices["lane"], numbers)]
    starts, ends, groups = mine["start"], mine["end"], mine["reason"]
    taken = coverage(starts, ends, groups, len(keys), edges)
    if _CONFLICT in keys:
        # A busy array tells how many of its cycles it lost to others that used its banks.
        lost = mine["lost"] / np.maximum(ends - starts, 1)
        by_reason = coverage(starts, ends, groups, len(keys), edges, lost)
        taken -= by_reason
        taken[keys.index(_CONFLICT)] += by_reason.sum(axis=0)
    return {
        "edges": [int(edge) for edge in edges],
        "cycles": {
            key: [round(float(value), 1) for value in row]
            for key, row in zip(keys, taken, strict=True)
            if row.any()
        },
    }
