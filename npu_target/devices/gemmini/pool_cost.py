"""About how many cycles tiles of a pool take, whose windows the store unit looks through."""

from __future__ import annotations

from math import prod

import numpy as np

from ...topi.blocking import ceil_div
from ...topi.mac_shape import Sizes
from ...topi.pool_operator import PoolShape
from .config import GemminiConfig
from .engine_cycles import load_row_cycles, store_row_cycles

# A pooled tile's height and width are counted in eight bits.
_MAX_POOLED_IMAGE = 255


def pool_cycles(
    shape: PoolShape, pipelined: bool, tile: Sizes, config: GemminiConfig
) -> np.ndarray:
    """Cycles of the whole operator with tiles of these sizes (arrays), infinite for images that
    the store command cannot count."""
    n, blocks, out_h, out_w = (tile[name] for name in ("n", "cb", "y", "xx"))
    lines, pixels = ((size - 1) * shape.stride + shape.size for size in (out_h, out_w))
    rows = n * blocks * lines * pixels
    row_cycles = load_row_cycles(config.dim, 1, shape.blocks * config.dim, config)
    commands = n * blocks * lines * ceil_div(pixels, config.dim)
    loads = np.maximum(rows * row_cycles, commands * config.l2_hit_latency_cycles)
    read = n * blocks * out_h * out_w * shape.size**2
    stores = read * store_row_cycles(config.dim, 1, config)
    whole = shape.n, shape.blocks, shape.out_h, shape.out_w
    tiles = prod(whole) // (n * blocks * out_h * out_w)
    if pipelined:
        cycles = tiles * np.maximum(loads, stores) + np.minimum(loads, stores)
    else:
        cycles = tiles * (loads + stores)
    return np.where(np.maximum(lines, pixels) <= _MAX_POOLED_IMAGE, cycles, np.inf)
