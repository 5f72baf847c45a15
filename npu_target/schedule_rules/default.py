"""The schedule of an operator that was never tuned: one structure, the largest tiles that fit."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..config import NpuConfig
from ..topi import Add, Conv2d, GlobalAvgPool, MaxPool2d, Operator
from ..topi.blocking import ceil_div
from ..topi.mac_schedule import KERNEL_LOOPS, MacStructure, schedule_mac
from ..topi.mac_shape import TILED, MacShape
from ..topi.simple_schedule import schedule_pool, schedule_sum

Tiles = dict[str, int]
# A pooled tile's height and width are counted in eight bits.
_MAX_POOLED_IMAGE = 255
# With fewer tiles of pixels for each tile of weights, most of them start and end the pipeline.
_LEAST_PIXEL_TILES = 4
# More blocks of a reduction in one tile only make the first tile late.
_MOST_REDUCTION_BLOCKS = 16
# The memory takes about as long for a block of weights as the array for two steps with it; to wait
# for all of them matters where few steps pass.
_LEAST_STEPS = 2
_FEW_STEPS = 8
# Each tile of weights reads all inputs again.
_MOST_PASSES = 2


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
        tile = _kept_tile(shape, config, windows)
        if tile is None:
            _streamed(sch, shape, config)
        else:
            structure = MacStructure(kept=True, two_sums=True, wide=shape.stores_wide)
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


def _kept_tile(shape: MacShape, config: NpuConfig, windows: bool) -> Tiles | None:
    """Tiles of the whole reduction whose weights stay while the pixels pass; None where there is
    no room for them, or where too few tiles pass."""
    extents = {name: shape.extent(name) for name in TILED}
    whole = ("depth", *KERNEL_LOOPS)

    def fits(tile: Tiles) -> bool:
        weights = shape.b_rows(tile)
        passing = [extents[name] // tile[name] for name in ("lines", "steps")]
        return (
            prod(passing) >= _LEAST_PIXEL_TILES
            and 2 * weights <= config.spad_rows
            and 2 * shape.a_rows(tile) + weights <= config.spad_rows
            and 2 * shape.c_rows(tile, shape.stores_wide) <= config.acc_rows
        )

    tile = {name: extents[name] if name in whole else 1 for name in TILED}
    if shape.depthwise or not fits(tile):
        return None
    # Windows of neighbouring lines share what they load, those of a line do not.
    # Without lines, every block of weights that stays saves a pass over the inputs.
    blocks_first = windows or extents["lines"] == 1
    for name in ("blocks", "lines", "steps") if blocks_first else ("steps", "blocks", "lines"):
        tile = grow_tiles(extents, (name,), fits, tile)
    if extents["blocks"] // tile["blocks"] > _MOST_PASSES:
        return None
    # The first tile's steps come no faster than the weights for them.
    rows = [of["lines"] * of["steps"] * shape.rows for of in (tile, extents)]
    starts_late = rows[0] < _LEAST_STEPS * config.dim
    return None if starts_late and rows[1] < _FEW_STEPS * config.dim else tile


def _tile_decisions(shape: MacShape, tile: Tiles) -> dict[str, list[int]]:
    return {name: [shape.extent(name) // tile[name], tile[name]] for name in TILED}


def _streamed(sch: Schedule, shape: MacShape, config: NpuConfig) -> None:
    extents = {name: shape.extent(name) for name in TILED}

    def fits(tile: Tiles) -> bool:
        # Two versions of each operand: one is loaded while the other is used.
        scratchpad = 2 * (shape.a_rows(tile) + shape.b_rows(tile))
        reduction = tile["depth"] * tile["kernel_h"] * tile["kernel_w"]
        return (
            scratchpad <= config.spad_rows
            and shape.c_rows(tile, shape.stores_wide) <= config.acc_rows
            and (tile["depth"] == 1 or reduction <= _MOST_REDUCTION_BLOCKS)
        )

    tile = {name: extents[name] if name in KERNEL_LOOPS else 1 for name in TILED}
    growing: tuple[str, ...] = ("steps", "lines", "blocks", "depth")
    split_kernel = not fits(tile) and any(extents[name] > 1 for name in KERNEL_LOOPS)
    if split_kernel:
        tile = dict.fromkeys(TILED, 1)
        growing = (*reversed(KERNEL_LOOPS), *growing)
    tile = grow_tiles(extents, growing, fits, tile)
    split_depth = tile["depth"] < shape.depth
    structure = MacStructure(
        split_depth=split_depth, split_kernel=split_kernel, wide=shape.stores_wide
    )
    schedule_mac(sch, structure, _tile_decisions(shape, tile))


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
    """What one command loads, or a few: nothing is used twice, so larger tiles are only later."""
    extents = {"cb": ceil_div(operator.cols, config.dim), "r": operator.rows}
    blocks = max(1, config.dma_request_bytes // config.dim)

    def one_load(tile: Tiles) -> bool:
        return tile["r"] <= config.dim and tile["cb"] <= blocks

    def few_rows(tile: Tiles) -> bool:
        return tile["r"] * tile["cb"] <= blocks * config.dim and _sum_fits(config)(tile)

    tile = grow_tiles(extents, ("r", "cb"), one_load, dict.fromkeys(extents, 1))
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
