"""When each engine of a device was busy, as intervals that a page can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device.profile import LaneKind, ProfileTerms

# Of a lane; closer ones are drawn as one.
MOST_INTERVALS = 2_000


def lanes(slices: np.ndarray, terms: ProfileTerms) -> list[dict[str, Any]]:
    """A lane for each engine, for the host and for each direction of transfers, which overlap.

    `busy` : cycles in which it did something. `spans` : gap, length, gap, length and so on, from
    cycle 0. `merged` : of intervals with gaps of so many cycles at most between them one was made,
    0 for none.
    """
    found = []
    for number, lane in enumerate(terms.lanes):
        mine = slices[slices["lane"] == number]
        if lane.kind is LaneKind.REASONS:
            continue
        starts, ends = mine["start"], mine["end"]
        if lane.kind is LaneKind.HOST:
            ends = ends - mine["lost"]  # it waited for room
        starts, ends = joined(starts, ends)
        busy = int((ends - starts).sum())
        starts, ends, merged = fewer(starts, ends, MOST_INTERVALS)
        found.append(
            {
                "name": lane.name,
                "kind": lane.kind.value,
                "pieces": len(mine),
                "busy": busy,
                "merged": merged,
                "spans": spans(starts, ends),
            }
        )
    return found


def joined(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Intervals [start, end) in any order as those that their union is made of, in order."""
    is_some = ends > starts
    starts, ends = starts[is_some], ends[is_some]
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    is_first = np.concatenate([[True], starts[1:] > reached[:-1]])
    is_last = np.concatenate([is_first[1:], [True]])
    return starts[is_first], reached[is_last]


def fewer(starts: np.ndarray, ends: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """At most so many of disjoint intervals in order, and up to how many cycles of a gap were
    closed for that."""
    if len(starts) <= most:
        return starts, ends, 0
    gaps = starts[1:] - ends[:-1]
    closed = int(np.sort(gaps)[len(starts) - most - 1])
    is_kept = gaps > closed
    first, last = np.concatenate([[True], is_kept]), np.concatenate([is_kept, [True]])
    return starts[first], ends[last], closed


def spans(starts: np.ndarray, ends: np.ndarray) -> list[int]:
    """Disjoint intervals in order as gap, length, gap, length and so on, from 0."""
    edges = np.stack([starts, ends], axis=1).reshape(-1)
    return [int(length) for length in np.diff(edges, prepend=0)]
