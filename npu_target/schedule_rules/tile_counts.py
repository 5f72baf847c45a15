"""How often tiles of a multiply-accumulate come, whatever the device."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from ..topi.mac_shape import MacShape, Sizes
from ..topi.mac_structure import KERNEL_LOOPS, MacStructure


class TileCounts(NamedTuple):
    """How often: operands that stay are loaded, tiles of sums there are, parts of a reduction in
    all tiles. Numbers, or arrays of them for many tile sizes."""

    kept: Any
    tiles: Any
    parts: Any

    @classmethod
    def of(cls, shape: MacShape, structure: MacStructure, tile: Sizes) -> TileCounts:
        over = {name: shape.extent(name) // size for name, size in tile.items()}
        batch = shape.batch
        pixels = over["lines"] * over["steps"]
        tiles = batch * over["blocks"] * pixels
        reduction = prod(over[name] for name in ("depth", *KERNEL_LOOPS))
        outer = over["blocks"] if structure.tiles == "weights_kept" else pixels
        return cls(batch * outer if structure.kept else 0, tiles, tiles * reduction)
