"""The devices that no other one beats in both area and cycles."""

from __future__ import annotations

from collections.abc import Iterable

from .results import DeviceResult


def pareto_front(results: Iterable[DeviceResult]) -> list[DeviceResult]:
    """Smallest first: each takes less time than every smaller one. Of equal ones the first is
    taken; devices that cannot run the network are not."""
    front: list[DeviceResult] = []
    able = [result for result in results if result.layers]
    for result in sorted(able, key=lambda result: (result.area_mm2, result.milliseconds)):
        if not front or result.milliseconds < front[-1].milliseconds:
            front.append(result)
    return front
