"""How an operator's domain is cut into the blocks that the array and the memories take."""

from __future__ import annotations

from typing import NamedTuple


def ceil_div(value: int, divisor: int) -> int:
    """``value / divisor`` rounded up, for non-negative integers."""
    return -(-value // divisor)


def rounded_up(value: int, multiple: int) -> int:
    """The next multiple, for non-negative integers."""
    return ceil_div(value, multiple) * multiple


# Steps of fewer rows take as long as steps of so many.
LEAST_STEP_ROWS = 8
# How many more steps than the fewest may leave less of them empty.
_MORE_STEPS = 2


class Steps(NamedTuple):
    """``number`` steps of ``rows`` rows each cover an extent; ``padded`` >= the extent."""

    number: int
    rows: int

    @property
    def padded(self) -> int:
        """The extent rounded up to whole steps."""
        return self.number * self.rows


def balanced_steps(extent: int, limit: int) -> Steps:
    """Equal steps of at most ``limit`` rows that cover ``extent`` in the least time.

    The array's time follows the rows of a step, but for the last: it overlaps with the preload of
    the next weights, which takes as long as a full step.  So 37 rows with a limit of 16 become
    three steps of 13, not 16 + 16 + 5, and 196 become 14 of 14, not 13 of 16.
    """
    fewest = ceil_div(extent, limit)
    choices = [Steps(n, ceil_div(extent, n)) for n in range(fewest, fewest + _MORE_STEPS + 1)]
    return min(choices, key=lambda steps: (steps.number - 1) * max(steps.rows, LEAST_STEP_ROWS))


def even_steps(extent: int, limit: int) -> Steps:
    """The fewest equal steps of at most ``limit`` rows that have just ``extent`` rows.

    For rows that follow each other: the compiler cuts those anew into as few steps as can be.
    """
    rows = next(n for n in range(min(extent, limit), 0, -1) if extent % n == 0)
    return Steps(extent // rows, rows)


def divisors(value: int) -> list[int]:
    """In ascending order."""
    small = [d for d in range(1, int(value**0.5) + 1) if value % d == 0]
    return sorted({*small, *(value // d for d in small)})
