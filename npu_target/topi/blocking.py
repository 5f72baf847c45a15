"""How an operator's domain is cut into the blocks that the array and the memories take."""

from __future__ import annotations

from typing import NamedTuple


def ceil_div(value: int, divisor: int) -> int:
    """``value / divisor`` rounded up, for non-negative integers."""
    return -(-value // divisor)


class Steps(NamedTuple):
    """``number`` steps of ``rows`` rows each cover an extent; ``padded`` >= the extent."""

    number: int
    rows: int

    @property
    def padded(self) -> int:
        """The extent rounded up to whole steps."""
        return self.number * self.rows


def balanced_steps(extent: int, limit: int) -> Steps:
    """The fewest equal steps of at most ``limit`` rows that cover ``extent``.

    Equal steps waste less than full ones and a remainder: 37 rows with a limit of 16 become
    three steps of 13, not 16 + 16 + 5, and the array's time follows the rows of a step.
    """
    count = ceil_div(extent, limit)
    return Steps(count, ceil_div(extent, count))


def even_steps(extent: int, limit: int) -> Steps:
    """The fewest equal steps of at most ``limit`` rows that have just ``extent`` rows.

    For rows that follow each other: the compiler cuts those anew into as few steps as can be.
    """
    rows = next(n for n in range(min(extent, limit), 0, -1) if extent % n == 0)
    return Steps(extent // rows, rows)
