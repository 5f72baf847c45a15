"""Operators that stores compute, as they pool windows of a tile: what their schedules are made
of."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from .operator import Operator, Template
from .simple_schedule import schedule_pool

if TYPE_CHECKING:
    from ..device import DeviceConfig


@dataclass(frozen=True)
class PoolShape:
    """Extents of the loops that tiles are cut from, images, channel blocks, output lines and
    pixels, and the windows that are ``stride`` apart."""

    n: int
    blocks: int
    out_h: int
    out_w: int
    size: int
    stride: int


@dataclass(frozen=True)
class PoolOperator(Operator):
    """Base of operators with a block ``store`` that pools (see `simple_schedule`)."""

    @abstractmethod
    def pool_shape(self, config: DeviceConfig) -> PoolShape:
        """The loops of its definition."""

    def templates(self) -> list[Template]:
        return [partial(schedule_pool, pipelined=pipelined) for pipelined in (True, False)]
