"""The devices of a sweep: every combination of what is varied."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..device import ConfigError, DeviceConfig
from .area import area_mm2

_LONGEST_NAME = 100


@dataclass(frozen=True)
class Point:
    """A device of a sweep, with the numbers that were varied and its area. `config` is None where
    there can be none, for this `reason`."""

    numbers: Mapping[str, int]
    config: DeviceConfig | None
    area_mm2: float = 0.0
    reason: str = ""


def grid(base: DeviceConfig, varied: Sequence[tuple[str, Sequence[int]]]) -> list[Point]:
    """`base` with every combination of the values of each name, the first name's changing slowest.

    Raises ConfigError for a number that its kind of device does not have or that is varied twice,
    and when no combination is a device.
    """
    names = [name for name, _ in varied]
    if len(set(names)) < len(names):
        raise ConfigError("a number is varied twice; give all its values at once")
    for name in names:
        base.check_varied(name)
    points = [
        _point(base, dict(zip(names, values, strict=True)))
        for values in itertools.product(*(values for _, values in varied))
    ]
    if all(point.config is None for point in points):
        raise ConfigError(f"none of the {len(points)} combinations is a device: {points[0].reason}")
    return points


def _point(base: DeviceConfig, numbers: dict[str, int]) -> Point:
    words = [f"{name}-{value}" for name, value in numbers.items()]
    name = "_".join([base.name, *words])
    try:
        config = base.varied(numbers)
        if len(name) > _LONGEST_NAME:
            name = f"{base.name[: _LONGEST_NAME - 17]}_{config.hash}"
        return Point(numbers, config.replace(name=name), area_mm2(config, base))
    except ConfigError as error:
        return Point(numbers, None, reason=str(error))
