"""Which rows of a memory the commands of a copy touch."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class RowPattern(NamedTuple):
    """Rows that a copy touches, less the first.

    along : of each of its loops the extent, and the rows from an iteration to the next.
    own : where the rows of each block begin and end.
    """

    along: tuple[tuple[int, int], ...]
    n_blocks: int
    block_rows: int
    own: tuple[int, int]

    @property
    def rows(self) -> np.ndarray:
        """int64 of its loops' extents and then the rows of one command."""
        return _rows_of(self)[0]

    @property
    def is_distinct(self) -> bool:
        """Whether none of them comes twice."""
        return _rows_of(self)[1]


@lru_cache(maxsize=128)  # copies of the iterations of a loop have the same
def _rows_of(pattern: RowPattern) -> tuple[np.ndarray, bool]:
    """See `RowPattern`."""
    rows = np.zeros((), dtype=np.int64)
    for extent, step in pattern.along:
        rows = rows[..., None] + np.arange(extent) * step
    offsets = np.arange(pattern.n_blocks)[:, None] * pattern.block_rows + np.arange(*pattern.own)
    rows = rows[..., None] + offsets.ravel()
    rows.flags.writeable = False
    return rows, int(np.bincount(rows.ravel() - rows.min()).max()) == 1
