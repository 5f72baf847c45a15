"""Tile sizes, grown as far as they fit."""

from __future__ import annotations

from collections.abc import Callable

Tiles = dict[str, int]


def grow_tiles(
    extents: Tiles, order: tuple[str, ...], fits: Callable[[Tiles], bool], start: Tiles
) -> Tiles:
    """Grow tiles from ``start``, in turn to the next divisor of their extent, while they fit."""
    tile = dict(start)
    growing = [name for name in order if tile[name] < extents[name]]
    while growing:
        for name in tuple(growing):
            larger = next(
                (d for d in range(tile[name] + 1, extents[name] + 1) if extents[name] % d == 0),
                None,
            )
            if larger is None or not fits({**tile, name: larger}):
                growing.remove(name)
            else:
                tile[name] = larger
    return tile
