"""Operators that look through windows of an image: what their schedules are made of."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from .operator import Operator, OperatorError, Template
from .pool_schedule import POOLED, schedule_pool

if TYPE_CHECKING:
    from ..device import DeviceConfig
    from .mac_shape import Sizes


@dataclass(frozen=True)
class PoolShape:
    """Extents of the loops that tiles are cut from, images, channel blocks, output lines and
    pixels, and the windows that are ``stride`` apart.

    rows : of a step of pixels, where steps of the device look through the windows; then ``out_w``
        counts steps.
    matrices : identity matrices that take the image to the sums for these; 0 where stores pool.
    """

    n: int
    blocks: int
    out_h: int
    out_w: int
    size: int
    stride: int
    rows: int = 1
    matrices: int = 0

    def image_rows(self, tile: Sizes) -> Any:
        """Rows of a tile's image."""
        outputs = tile["y"], tile["xx"] * self.rows
        lines, pixels = ((size - 1) * self.stride + self.size for size in outputs)
        return tile["n"] * tile["cb"] * lines * pixels

    def fits(self, pipelined: bool, tile: Sizes, config: DeviceConfig) -> Any:
        """Whether tiles, and their versions, have room in a device's memories."""
        memories, rows, versions = config.memories, self.image_rows(tile), 1 + pipelined
        if not self.matrices:
            memory = memories.sums
            return (rows <= memory.bank_rows) & (versions * rows <= memory.rows)
        # The maxima, and what one place of all windows holds.
        sums = 2 * self.rows * prod(tile.values())
        return memories.have_room(versions * rows, self.matrices * config.dim, sums)


@dataclass(frozen=True)
class PoolOperator(Operator):
    """Base of operators with a block ``store`` that pools, or a block ``max`` (see
    `pool_schedule`)."""

    @abstractmethod
    def pool_shape(self, config: DeviceConfig) -> PoolShape:
        """The loops of its definition."""

    def check_room(self, config: DeviceConfig) -> None:
        shape, tile = self.pool_shape(config), dict.fromkeys(POOLED, 1)
        if not shape.fits(False, tile, config):
            raise OperatorError(
                f"not even one window has room in the memories of {config.name}: it needs "
                f"{shape.image_rows(tile)} rows of its image"
            )

    def templates(self, config: DeviceConfig) -> list[Template]:
        schedule = partial(schedule_pool, memories=config.memories)
        return [partial(schedule, pipelined=pipelined) for pipelined in (True, False)]
