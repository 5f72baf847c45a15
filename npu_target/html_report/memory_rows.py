"""Which rows of a device's own memories hold data that are still needed, over time.

A row is in use from when data begin to come into it until they are read for the last time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import DeviceConfig
from ..device.profile import LaneKind, ProfileTerms
from ..sim.timeline import MEMORY_ROWS
from .coverage import coverage, time_edges

COLUMNS = 200
# Of a picture; each stands for several of the memory's.
BANDS = 64
LEVELS = 9

_READS = (("read_from", "read_to"), ("also_read_from", "also_read_to"))
_WRITES = ("written_from", "written_to")


def memory_maps(
    slices: np.ndarray, terms: ProfileTerms, config: DeviceConfig, cycles: int
) -> list[dict[str, Any]]:
    """A picture of each memory: `levels` is a text for each band of rows, a digit for each column
    of time, 0 for none of it in use and LEVELS for all. `most` rows are in use at once."""
    engines = [n for n, lane in enumerate(terms.lanes) if lane.kind is LaneKind.ENGINE]
    slices = slices[np.isin(slices["lane"], engines)]
    edges = time_edges(cycles, COLUMNS)
    maps = []
    for place, memory in enumerate(config.memories.all):
        first_row = place * MEMORY_ROWS
        rows, starts, ends = in_use(slices, first_row, first_row + memory.rows)
        per_band = -(-memory.rows // min(BANDS, memory.rows))
        n_bands = -(-memory.rows // per_band)
        used = coverage(starts, ends, rows // per_band, n_bands, edges)
        sizes = np.full(n_bands, per_band)
        sizes[-1] = memory.rows - per_band * (n_bands - 1)
        # Whole numbers as long as nothing is divided, so that no full band is rounded up.
        levels = np.ceil(used * LEVELS / (sizes[:, None] * np.diff(edges))).astype(int)
        maps.append(
            {
                "name": memory.title,
                "rows": memory.rows,
                "row_bytes": memory.n_bytes // memory.rows,
                "bank_rows": memory.bank_rows,
                "band_rows": per_band,
                "edges": [int(edge) for edge in edges],
                "levels": ["".join(map(str, band)) for band in levels],
                "most": _most(starts, ends),
                "average": float(used.sum() / cycles) if cycles else 0.0,
            }
        )
    return maps


def in_use(
    slices: np.ndarray, first_row: int, end_row: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the rows [first_row, end_row), counted from the first: each row, and from when to when it
    is in use, as often as that is."""
    begun = np.minimum(slices["issued"], slices["completed"])
    ended = slices["completed"] + 1
    needed, adds = np.ones(len(slices), bool), np.zeros(len(slices), bool)
    # A result that is added to what is there needs it when it begins.
    for names in _READS:
        adds |= (slices[names[0]] == slices[_WRITES[0]]) & (slices[names[1]] == slices[_WRITES[1]])
    span = int(ended.max(initial=0)) + 1
    # An event is one number, to be sorted by row, by time, and reads first: what is read in the
    # cycle in which others begin to come was there before them.
    events = np.concatenate(
        [
            _events(slices, names, times, is_needed, (first_row, end_row), span)
            for names, times, is_needed in (
                (_WRITES, begun, adds),
                *((names, ended, needed) for names in (*_READS, _WRITES)),
            )
        ]
    )
    events.sort()
    rows, times = np.divmod(events >> 1, span)
    lives_on = (rows[1:] == rows[:-1]) & (events[1:] & 1 == 0)
    return rows[1:][lives_on], times[:-1][lives_on], times[1:][lives_on]


def _events(
    slices: np.ndarray,
    names: tuple[str, str],
    times: np.ndarray,
    is_needed: np.ndarray,
    memory: tuple[int, int],
    span: int,
) -> np.ndarray:
    """Of each row of a memory in the ranges: twice `span` times the row plus the time, and 1 more
    unless what the row held before is needed."""
    first, end = slices[names[0]], np.minimum(slices[names[1]], memory[1])
    is_mine = (memory[0] <= first) & (first < end)
    first, counts = first[is_mine] - memory[0], (end - first)[is_mine]
    before = np.cumsum(counts) - counts
    rows = np.arange(counts.sum()) - np.repeat(before - first, counts)
    rows *= span
    rows += np.repeat(times[is_mine], counts)
    rows *= 2
    rows += np.repeat(~is_needed[is_mine], counts)
    return rows


def _most(starts: np.ndarray, ends: np.ndarray) -> int:
    """How many intervals there are at once."""
    times = np.concatenate([starts, ends])
    steps = np.repeat([1, -1], [len(starts), len(ends)])
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max(initial=0))
