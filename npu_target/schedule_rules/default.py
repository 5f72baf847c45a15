"""The schedule of an operator that was never tuned: one structure, the largest tiles that fit."""

from __future__ import annotations

from collections.abc import Callable

from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..config import NpuConfig
from ..topi import Add, Conv2d, GlobalAvgPool, MaxPool2d, Operator
from ..topi.blocking import ceil_div
from ..topi.mac_schedule import schedule_mac
from ..topi.mac_shape import TILED, MacShape
from ..topi.simple_schedule import schedule_pool, schedule_sum
from .default_mac import default_mac
from .grow_tiles import Tiles, grow_tiles

# A pooled tile's height and width are counted in eight bits.
_MAX_POOLED_IMAGE = 255


def default_schedule(
    operator: Operator, config: NpuConfig, func: PrimFunc | None = None
) -> Schedule:
    """Schedule ``operator`` without any search; equal operators get equal schedules.

    ``func``: its ``prim_func(config)`` where that was made already.
    """
    sch = Schedule(operator.prim_func(config) if func is None else func, seed=1)
    shape = MacShape.of(operator, config)
    if shape is not None:
        windows = isinstance(operator, Conv2d) and operator.windows
        structure, tile = default_mac(shape, config, windows)
        schedule_mac(sch, structure, _tile_decisions(shape, tile))
    elif isinstance(operator, Add):
        schedule_sum(sch, True, _add_tile(operator, config))
    elif isinstance(operator, GlobalAvgPool):
        extents = {"n": operator.n, "cb": ceil_div(operator.c, config.dim)}
        schedule_sum(sch, True, _decisions(extents, _sum_fits(config)))
    elif isinstance(operator, MaxPool2d):
        _pool(sch, operator, config)
    else:
        raise TypeError(f"{operator.name}: no default schedule for {type(operator).__name__}")
    return sch


def _tile_decisions(shape: MacShape, tile: Tiles) -> dict[str, list[int]]:
    return {name: [shape.extent(name) // tile[name], tile[name]] for name in TILED}


def _pool(sch: Schedule, operator: MaxPool2d, config: NpuConfig) -> None:
    window = operator.window
    extents = {
        "n": operator.n,
        "cb": ceil_div(operator.c, config.dim),
        "y": window.out_h,
        "xx": window.out_w,
    }

    def fits(tile: Tiles) -> bool:
        lines = (tile["y"] - 1) * operator.stride + operator.size
        pixels = (tile["xx"] - 1) * operator.stride + operator.size
        rows = tile["n"] * tile["cb"] * lines * pixels
        return max(lines, pixels) <= _MAX_POOLED_IMAGE and 2 * rows <= config.spad_rows

    schedule_pool(sch, True, _decisions(extents, fits))


def _add_tile(operator: Add, config: NpuConfig) -> dict[str, list[int]]:
    """What one request loads, or a few: nothing is used twice, so larger tiles are only later.
    Requests are for rows of so many blocks; where the channels are no multiple, for all of a row.
    Commands of all the device's rows, or of half as many, take turns best."""
    extents = {"cb": ceil_div(operator.cols, config.dim), "r": operator.rows}
    fits = _sum_fits(config)
    blocks = config.mvin_max_cols // config.dim
    request = extents["cb"] if extents["cb"] % blocks else blocks
    command_rows = config.dim if operator.rows % config.dim == 0 else config.dim // 2

    def one_load(tile: Tiles) -> bool:
        return tile["cb"] <= request and tile["r"] <= command_rows and fits(tile)

    def few_rows(tile: Tiles) -> bool:
        return tile["r"] * tile["cb"] <= blocks * config.dim and fits(tile)

    tile = grow_tiles(extents, ("cb",), one_load, dict.fromkeys(extents, 1))
    tile = grow_tiles(extents, ("r",), one_load, tile)
    tile = grow_tiles(extents, ("cb",), few_rows, tile)
    return {name: [extents[name] // tile[name], tile[name]] for name in extents}


def _sum_fits(config: NpuConfig) -> Callable[[Tiles], bool]:
    def fits(tile: Tiles) -> bool:
        rows = 1
        for extent in tile.values():
            rows *= extent
        return 2 * rows <= config.acc_rows

    return fits


def _decisions(extents: Tiles, fits: Callable[[Tiles], bool]) -> dict[str, list[int]]:
    tile = grow_tiles(extents, tuple(reversed(extents)), fits, dict.fromkeys(extents, 1))
    return {name: [extents[name] // tile[name], tile[name]] for name in extents}
