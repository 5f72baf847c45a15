"""The schedule of an operator that was never tuned: one structure, the largest tiles that fit."""

from __future__ import annotations

from collections.abc import Callable

from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..config import NpuConfig
from ..topi import Add, GlobalAvgPool, MaxPool2d, Operator
from ..topi.blocking import ceil_div
from ..topi.mac_schedule import KERNEL_LOOPS, MacStructure, schedule_mac
from ..topi.mac_shape import TILED, MacShape
from ..topi.simple_schedule import schedule_pool, schedule_sum

Tiles = dict[str, int]
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
        _mac(sch, shape, config)
    elif isinstance(operator, Add):
        extents = {"cb": ceil_div(operator.cols, config.dim), "r": operator.rows}
        schedule_sum(sch, True, _decisions(extents, _sum_fits(config)))
    elif isinstance(operator, GlobalAvgPool):
        extents = {"n": operator.n, "cb": ceil_div(operator.c, config.dim)}
        schedule_sum(sch, True, _decisions(extents, _sum_fits(config)))
    elif isinstance(operator, MaxPool2d):
        _pool(sch, operator, config)
    else:
        raise TypeError(f"{operator.name}: no default schedule for {type(operator).__name__}")
    return sch


def _mac(sch: Schedule, shape: MacShape, config: NpuConfig) -> None:
    extents = {name: shape.extent(name) for name in TILED}

    def fits(tile: Tiles) -> bool:
        # Two versions of each operand: one is loaded while the other is used.
        scratchpad = 2 * (shape.a_rows(tile) + shape.b_rows(tile))
        return scratchpad <= config.spad_rows and shape.c_rows(tile) <= config.acc_rows

    tile = {name: extents[name] if name in KERNEL_LOOPS else 1 for name in TILED}
    growing: tuple[str, ...] = ("steps", "depth", "blocks", "lines")
    split_kernel = not fits(tile) and any(extents[name] > 1 for name in KERNEL_LOOPS)
    if split_kernel:
        tile = dict.fromkeys(TILED, 1)
        growing = (*reversed(KERNEL_LOOPS), *growing)
    tile = grow_tiles(extents, growing, fits, tile)
    decisions = {name: [extents[name] // tile[name], tile[name]] for name in TILED}
    split_depth = tile["depth"] < shape.depth
    schedule_mac(sch, MacStructure(split_depth=split_depth, split_kernel=split_kernel), decisions)


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
