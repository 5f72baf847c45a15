"""The default structure and tile sizes of a multiply-accumulate, told from its shape.

What a tile loads should take no longer than the steps of the one before, and what nothing hides
should be short: the loads of the first tile, the stores of the last one, and those of an operand
that stays.  Past that, larger tiles bring nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..config import NpuConfig
from ..topi.mac_schedule import KERNEL_LOOPS, MacStructure
from ..topi.mac_shape import TILED, MacShape
from .grow_tiles import Tiles, grow_tiles

# With fewer tiles that pass an operand that stays, most of them start and end the pipeline.
_LEAST_PIXEL_TILES = 4
_LEAST_WEIGHT_TILES = 6
# Weights stream past inputs that stay if they are so many times as large: to load what stays is
# not hidden.
_MORE_WEIGHTS = 1.5
# With so many rows for each block of weights to pass, the array takes all that come with one part
# of the reduction before the next, and starts with a part of the inputs.
_MANY_ROWS = 96
# Steps of a tile along a line, where tiles share no pixels.
_MOST_STEPS = 2
# The memory takes about as long for a block of weights as the array for two steps with it; to wait
# for all of them matters where few steps pass.
_LEAST_STEPS = 2
_FEW_STEPS = 8
_FEW_WEIGHT_ROWS = 512
# Each tile of weights reads all inputs again.
_MOST_PASSES = 2
# A streamed tile's blocks of the reduction, and of weights: more only make the first tile late.
_MOST_REDUCTION_BLOCKS = 4
_MOST_WEIGHT_BLOCKS = 128


def default_mac(
    shape: MacShape, config: NpuConfig, windows: bool = False
) -> tuple[MacStructure, Tiles]:
    """A structure, and the tile sizes for it by the names in TILED.  ``windows`` as in
    :class:`Conv2d`."""
    kept = _kept(shape, config, windows)
    if kept is not None:
        return kept
    tile = _streamed_tile(shape, config)
    split_depth = tile["depth"] < shape.depth
    split_kernel = any(tile[name] < shape.extent(name) for name in KERNEL_LOOPS)
    wide = shape.stores_wide
    return MacStructure(split_depth=split_depth, split_kernel=split_kernel, wide=wide), tile


def default_add(shape: MacShape, config: NpuConfig) -> tuple[MacStructure, Tiles]:
    """The same for a residual add.  Its multipliers stay and nothing else is used twice, so tiles
    are what one load brings of each operand: larger ones are only later."""
    extents = {name: shape.extent(name) for name in TILED}
    blocks = config.mvin_max_cols // config.dim  # of one request

    def fits(tile: Tiles) -> bool:
        return (
            tile["blocks"] * tile["steps"] <= blocks
            and 2 * shape.a_rows(tile) + shape.b_rows(tile) <= config.spad_rows
            and 2 * shape.c_rows(tile, wide=True) <= config.acc_rows
        )

    tile = _grow_in_turn(extents, ("blocks", "steps"), fits, _whole_reduction(shape))
    return MacStructure(kept=True, two_sums=True, wide=True, step_order="kernel_first"), tile


def _kept(shape: MacShape, config: NpuConfig, windows: bool) -> tuple[MacStructure, Tiles] | None:
    """With one operand that stays; None where that cannot be or does not pay."""
    wide, order = shape.stores_wide, "blocks_first"
    if shape.depthwise:
        wide = 2 * shape.rows > shape.dim  # shorter steps would leave most of the memory empty
        tile = _depthwise_tile(shape, config, wide)
        if tile is None:
            return None
        passes = any(tile[name] < shape.extent(name) for name in ("lines", "steps"))
        tiles = "weights_kept" if passes else "inputs_kept"
    else:
        tiles, tile = "inputs_kept", _kept_inputs_tile(shape, config)
        if tile is None:
            tiles, tile = "weights_kept", _kept_weights_tile(shape, config, windows)
        elif tile["lines"] * tile["steps"] * shape.rows >= _MANY_ROWS:
            order = "kernel_first"
        if tile is None:
            return None
    return MacStructure(tiles, kept=True, two_sums=True, wide=wide, step_order=order), tile


def _depthwise_tile(shape: MacShape, config: NpuConfig, wide: bool) -> Tiles | None:
    """Tiles of as many blocks of channels as one request loads, or of all: a part of a request
    takes as long as a whole one.  None where there is no room for a whole kernel."""
    extents = {name: shape.extent(name) for name in TILED}
    blocks = config.mvin_max_cols // config.dim  # of one request
    most_blocks = shape.blocks if shape.blocks % blocks else blocks

    def fits(tile: Tiles) -> bool:
        return (
            tile["blocks"] <= most_blocks
            and 2 * (shape.a_rows(tile) + shape.b_rows(tile)) <= config.spad_rows
            and 2 * shape.c_rows(tile, wide) <= config.acc_rows
        )

    tile = _whole_reduction(shape)
    return _grow_in_turn(extents, ("blocks", "steps", "lines"), fits, tile) if fits(tile) else None


def _kept_inputs_tile(shape: MacShape, config: NpuConfig) -> Tiles | None:
    """Tiles of the whole reduction past whose inputs the weights stream, in rows as long as one
    request; None where there is no room for them, where the weights are hardly more than the
    inputs, or where too few tiles pass."""
    extents = {name: shape.extent(name) for name in TILED}
    blocks = config.mvin_max_cols // config.dim  # of one request
    if (
        shape.kernel != (1, 1)
        or shape.blocks % blocks
        or shape.blocks < _LEAST_WEIGHT_TILES * blocks
        or shape.b_rows(extents) < _MORE_WEIGHTS * shape.a_rows(extents)
    ):
        return None

    def fits(tile: Tiles) -> bool:
        return (
            2 * shape.b_rows(tile) + shape.a_rows(tile) <= config.spad_rows
            and 2 * shape.c_rows(tile, shape.stores_wide) <= config.acc_rows
        )

    tile = {**_whole_reduction(shape), "blocks": blocks}
    return grow_tiles(extents, ("steps", "lines"), fits, tile) if fits(tile) else None


def _kept_weights_tile(shape: MacShape, config: NpuConfig, windows: bool) -> Tiles | None:
    """Tiles of the whole reduction whose weights stay while the pixels pass; None where there is
    no room for them, or where too few tiles pass."""
    extents = {name: shape.extent(name) for name in TILED}
    one_line = shape.lines == 1

    def fits(tile: Tiles) -> bool:
        weights = shape.b_rows(tile)
        passing = [extents[name] // tile[name] for name in ("lines", "steps")]
        return (
            prod(passing) >= _LEAST_PIXEL_TILES
            and (not one_line or tile["steps"] <= _MOST_STEPS)
            and (not windows or tile["lines"] <= shape.kernel[0])
            and 2 * weights <= config.spad_rows
            and 2 * shape.a_rows(tile) + weights <= config.spad_rows
            and 2 * shape.c_rows(tile, shape.stores_wide) <= config.acc_rows
        )

    tile = _whole_reduction(shape)
    if not fits(tile):
        return None
    # Windows of neighbouring lines share what they load, those of a line do not.  Without lines,
    # every block of weights that stays saves a pass over the inputs.
    lines_last = not windows and not one_line
    order = ("steps", "blocks", "lines") if lines_last else ("blocks", "lines", "steps")
    tile = _grow_in_turn(extents, order, fits, tile)
    if extents["blocks"] // tile["blocks"] > _MOST_PASSES:
        return None
    # The first tile's steps come no faster than the weights for them.
    rows = [of["lines"] * of["steps"] * shape.rows for of in (tile, extents)]
    starts_late = rows[0] < _LEAST_STEPS * config.dim and shape.b_rows(tile) > _FEW_WEIGHT_ROWS
    return None if starts_late and rows[1] < _FEW_STEPS * config.dim else tile


def _streamed_tile(shape: MacShape, config: NpuConfig) -> Tiles:
    """Tiles both of whose operands are loaded anew."""
    extents = {name: shape.extent(name) for name in TILED}

    def fits(tile: Tiles) -> bool:
        # Two versions of each operand: one is loaded while the other is used.
        scratchpad = 2 * (shape.a_rows(tile) + shape.b_rows(tile))
        reduction = tile["depth"] * prod(tile[name] for name in KERNEL_LOOPS)
        starts_soon = (
            reduction <= _MOST_REDUCTION_BLOCKS
            and reduction * tile["blocks"] <= _MOST_WEIGHT_BLOCKS
        )
        return (
            scratchpad <= config.spad_rows
            and shape.c_rows(tile, shape.stores_wide) <= config.acc_rows
            and (tile["depth"] == 1 or starts_soon)
        )

    tile = dict.fromkeys(TILED, 1)
    for name in KERNEL_LOOPS:
        tile[name] = extents[name]
    growing: tuple[str, ...] = ("steps", "lines", "blocks")
    if not fits(tile):
        tile = dict.fromkeys(TILED, 1)
        growing = (*reversed(KERNEL_LOOPS), *growing)
    tile = grow_tiles(extents, growing, fits, tile)
    return grow_tiles(extents, ("depth",), fits, tile)


def _whole_reduction(shape: MacShape) -> Tiles:
    """The smallest tile of the whole reduction."""
    whole = ("depth", *KERNEL_LOOPS)
    return {name: shape.extent(name) if name in whole else 1 for name in TILED}


def _grow_in_turn(
    extents: Tiles, order: tuple[str, ...], fits: Callable[[Tiles], bool], tile: Tiles
) -> Tiles:
    """Each dimension as far as it goes before the next."""
    for name in order:
        tile = grow_tiles(extents, (name,), fits, tile)
    return tile
