"""Requantization as steps: where each of two rules comes from one int8 value to the next.

A requantization with a positive scale never falls while sums rise. So all that it does between two
sums is said by, for each level, the least sum that reaches it: 255 numbers. Two are equal for every
sum in between if and only if these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ..device.requantize import RequantizeRule

StepFunction = Callable[[np.ndarray], np.ndarray]
"""int8 results of sums: int64 arrays of one dimension that hold numbers of int32."""

_INT32 = np.iinfo(np.int32)
# How many scales are tried of an interval in which every one should do: the interval is of real
# numbers, the device's products are rounded to float32.
_TRIED_SCALES = 33


@dataclass(frozen=True)
class Steps:
    """A step function between the sums ``low`` and ``high``, both included.

    levels : results, int64.
    least : for each the least sum that reaches it; ``low`` for those reached all along,
        ``high + 1`` for those not reached.
    """

    low: int
    high: int
    levels: np.ndarray
    least: np.ndarray


def steps_of(function: StepFunction, low: int, high: int, levels: np.ndarray) -> Steps:
    """The steps of a function that never falls, by bisection."""
    below = np.full(levels.shape, low - 1, np.int64)  # not reached, as far as the interval goes
    least = np.full(levels.shape, high + 1, np.int64)
    while (least - below > 1).any():
        middle = (below + least) // 2
        reached = function(np.clip(middle, low, high)) >= levels
        open_ = least - below > 1
        least = np.where(open_ & reached, middle, least)
        below = np.where(open_ & ~reached, middle, below)
    return Steps(low, high, levels, least)


@dataclass(frozen=True)
class DeviceNumbers:
    """What the device is told: ``offset`` is added to its sums, then its rule with ``scale``.

    moved : levels whose step is at another sum than it should be. With none, the results are the
        same for all sums.
    """

    scale: float
    offset: int
    moved: int


def device_numbers(
    steps: Steps, rule: RequantizeRule, scale: float, offset: float, is_offset_free: bool = True
) -> DeviceNumbers | None:
    """The device's numbers that come nearest to a step function of about ``round((sum + offset) *
    scale)``; None where the rule has none.

    is_offset_free : whether something can be added to the sums; otherwise nothing is.
    """
    offsets = _offsets(steps, scale, offset) if is_offset_free else [0]
    best: DeviceNumbers | None = None
    for candidate in offsets:
        if steps.low + candidate < _INT32.min or steps.high + candidate > _INT32.max:
            continue
        for factor in _scales(steps, rule, scale, candidate):
            moved = _moved(steps, rule, factor, candidate)
            if best is None or moved < best.moved:
                best = DeviceNumbers(factor, candidate, moved)
            if moved == 0:
                return best
    return best


def _offsets(steps: Steps, scale: float, offset: float) -> list[int]:
    """Offsets to try: the one asked for, then those next to the mean distance of the steps from
    where the scale alone would have them."""
    asked_for = near = round(offset)
    seen = (steps.low < steps.least) & (steps.least <= steps.high)
    if seen.any():
        # A step between two sums is at their middle.
        halves, middles = steps.levels[seen] - 0.5, steps.least[seen] - 0.5
        near = round(float(np.mean(halves / scale - middles)))
    return list(dict.fromkeys((asked_for, near, near - 1, near + 1)))


def _scales(steps: Steps, rule: RequantizeRule, scale: float, offset: int) -> Iterable[float]:
    """Scales to try: the one asked for, then those with which every step is where it should be if
    products were exact."""
    tried = [scale]
    interval = _inverse_scales(steps, offset)
    if interval is not None:
        tried += (1 / np.linspace(*interval, _TRIED_SCALES)).tolist()
    rounded = (float(np.float32(factor)) for factor in tried)
    return [factor for factor in dict.fromkeys(rounded) if rule.refusal(factor) is None]


def _inverse_scales(steps: Steps, offset: int) -> tuple[float, float] | None:
    """The interval of ``1 / scale`` in which each level is reached where it should be: ``least - 1
    < (level - 1/2) / scale - offset <= least``, the outer sums bounding what is not seen."""
    halves = steps.levels - 0.5
    upper = np.where(steps.least > steps.high, np.inf, (steps.least + offset).astype(float))
    lower = np.where(steps.least <= steps.low, -np.inf, (steps.least - 1 + offset).astype(float))
    with np.errstate(invalid="ignore"):
        ends = np.sort(np.stack([lower / halves, upper / halves]), axis=0)
    least, most = float(ends[0].max(initial=0.0)), float(ends[1].min(initial=np.inf))
    if not 0 < least <= most < np.inf:
        return None
    return least, most


def _moved(steps: Steps, rule: RequantizeRule, scale: float, offset: int) -> int:
    """How many levels are reached too early or too late."""

    def results(sums: np.ndarray) -> np.ndarray:
        return rule.evaluate((sums + offset).astype(np.int32), scale).astype(np.int64)

    at = results(np.clip(steps.least, steps.low, steps.high)) >= steps.levels
    before = results(np.clip(steps.least - 1, steps.low, steps.high)) < steps.levels
    is_late = (steps.least <= steps.high) & ~at
    is_early = (steps.least > steps.low) & ~before
    return int((is_late | is_early).sum())
