"""Of how many channels the blocks are that get a scale of their own. Small ones come nearer to a
network's numbers; stores of several blocks at once, which have one scale, may be faster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from ..partition import Partitioned, partition, topi_lowering
from ..topi import Operator
from .errors import NumericsError

Cycles = Callable[[Operator], int]
"""How long a device takes for an operator."""


@dataclass(frozen=True)
class ScaleWidth:
    """channels : of a block; None where all have one scale. excess : what the least blocks would
    cost more than one scale, as a share of that."""

    channels: int | None
    excess: float


def scale_widths(
    partitioned: Partitioned,
    products: Collection[str],
    block: int,
    cycles: Cycles,
    most_excess: float,
) -> dict[str, ScaleWidth]:
    """The least width for each of ``products``, which have a scale for each ``block`` channels,
    that costs at most ``most_excess`` more than one scale, as a share; those that keep theirs are
    left out.

    partitioned : the network with these products, by the names of their bindings.
    """
    operators = {region.name: region.operator for region in partitioned.regions}
    found = {}
    for decision in partitioned.decisions:
        if decision.name not in products or decision.region is None:
            continue
        width = _width(operators[decision.region], block, cycles, most_excess)
        if width.channels != block:
            found[decision.name] = width
    return found


def partitioned_quickly(mod: Any, config: DeviceConfig, host: frozenset[str]) -> Partitioned:
    """Which operators there are; definitions of equal ones are made once."""

    @cache
    def lower(operator: Operator, config: DeviceConfig) -> PrimFunc:
        return topi_lowering(operator, config)

    return partition(mod, config, lower, host)


def _width(operator: Operator, block: int, cycles: Cycles, most_excess: float) -> ScaleWidth:
    """For an operator that has a scale for each channel, and perhaps more than the layer."""
    channels = len(_scale_of(operator))
    one = cycles(_with_scale(operator, 1.0))
    excess = None
    for width in widths(channels, block):
        share = cycles(_with_scale(operator, pattern(channels, width))) / one - 1
        excess = share if excess is None else excess
        if share <= most_excess:
            return ScaleWidth(width, excess)
    return ScaleWidth(None, excess or 0.0)


def widths(channels: int, block: int) -> Iterator[int]:
    """Those between a block and all channels, doubled again and again."""
    while block < channels:
        yield block
        block *= 2


def pattern(channels: int, width: int) -> tuple[float, ...]:
    """Scales that change between blocks of so many channels."""
    return tuple(1.0 + channel // width % 2 for channel in range(channels))


def _scale_of(operator: Operator) -> tuple[float, ...]:
    scale = getattr(operator, "scale", None)
    if not isinstance(scale, tuple):
        raise NumericsError(f"{operator.name} has no scale for each channel")
    return scale


def _with_scale(operator: Operator, scale: float | tuple[float, ...]) -> Operator:
    # Operators with such scales are dataclasses that have them as a field.
    return replace(operator, scale=scale)  # type: ignore[call-arg]
