"""The best value of one field, all others being as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

# What is tried first, as multiples of the value there is.
_FACTORS = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 19 / 20, 21 / 20, 4 / 3, 2, 4, 8)
# And of small values, of which multiples say little.
_SMALL = (0, 1, 2, 4, 8, 16)
# Large values are not searched finer than by this share.
_RESOLUTION = 0.0025
_FARTHER = 4
# The first steps from a value that is about right.
_NEAR = 0.02


class Best(NamedTuple):
    """A value and what it costs."""

    value: int
    cost: float


class LineSearch:
    """Looks for the value, of those from `least` to `most`, that costs least.

    cost : of a value; infinite for one that cannot be.
    """

    def __init__(self, cost: Callable[[int], float], now: int, least: int, most: int) -> None:
        self._cost, self._least, self._most = cost, least, most
        self._now = now
        self._costs: dict[int, float] = {}

    def coarse(self) -> Best:
        """The best of few values that are far apart."""
        tried = {self._now, *(round(self._now * factor) for factor in _FACTORS)}
        if self._now <= max(_SMALL):
            tried.update(_SMALL)
            tried.update((self._now - 1, self._now + 1))
        for value in tried:
            self._of(value)
        # Past an end of what was tried as long as it gets better.
        while self._best().value == max(self._costs) and max(self._costs) < self._most:
            self._of(max(1, _FARTHER * max(self._costs)))
        while self._best().value == min(self._costs) and min(self._costs) > self._least:
            self._of(min(self._costs) // _FARTHER)
        return self._best()

    def fine(self) -> Best:
        """The best of all between the neighbours of the coarse one."""
        self.coarse()
        return self._closer()

    def near(self) -> Best:
        """The best of the valley in which the value there is lies: cheaper than `fine`."""
        step = max(1, round(_NEAR * self._now))
        for value in (self._now, self._now - step, self._now + step):
            self._of(value)
        while (best := self._best().value) in (min(self._costs), max(self._costs)):
            step *= 2
            value = best - step if best == min(self._costs) else best + step
            value = min(max(value, self._least), self._most)
            if value in self._costs:
                break
            self._of(value)
        return self._closer()

    def _closer(self) -> Best:
        """The best of all between the neighbours of the best so far."""
        while True:
            tried = sorted(self._costs)
            best = self._best().value
            at = tried.index(best)
            low, high = tried[max(0, at - 1)], tried[min(len(tried) - 1, at + 1)]
            step = max(1, math.floor(_RESOLUTION * best))
            news = [
                middle
                for middle, width in (
                    ((low + best) // 2, best - low),
                    ((best + high + 1) // 2, high - best),
                )
                if width > step and middle not in self._costs
            ]
            if not news:
                return self._best()
            for value in news:
                self._of(value)

    def _of(self, value: int) -> None:
        value = min(max(value, self._least), self._most)
        if value not in self._costs:
            self._costs[value] = self._cost(value)

    def _best(self) -> Best:
        """Of equal ones the nearest to the value there was."""
        value = min(
            self._costs, key=lambda value: (self._costs[value], abs(value - self._now), value)
        )
        return Best(value, self._costs[value])
