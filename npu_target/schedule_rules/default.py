"""The schedule of an operator that was never tuned: one structure, the largest tiles that fit."""

from __future__ import annotations

from dataclasses import replace

from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..config import NpuConfig
from ..topi import Add, Conv2d, MaxPool2d, Operator
from ..topi.blocking import ceil_div
from ..topi.mac_schedule import schedule_mac
from ..topi.mac_shape import TILED, MacShape
from ..topi.simple_schedule import schedule_pool
from .default_mac import default_add, default_mac
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
        if isinstance(operator, Add):
            structure, tile = default_add(shape, config)
        else:
            windows = isinstance(operator, Conv2d) and operator.windows
            structure, tile = default_mac(shape, config, windows)
        # Packed, a depthwise convolution's first weights come later than its steps need them.
        packed = bool(operator.layout_free) and not shape.depthwise
        schedule_mac(sch, replace(structure, packed=packed), _tile_decisions(shape, tile))
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
        fits = rows <= config.acc_bank_rows and 2 * rows <= config.acc_rows
        return fits and max(lines, pixels) <= _MAX_POOLED_IMAGE

    tile = grow_tiles(extents, tuple(reversed(extents)), fits, dict.fromkeys(extents, 1))
    decisions = {name: [extents[name] // tile[name], tile[name]] for name in extents}
    schedule_pool(sch, True, decisions)
