"""Pooling stores: the loops over windows that the store unit walks itself.

One mvout pools an image tile: it counts lines and pixels of windows, so of the loops around a
pooling copy up to two disappear into the command's settings.
"""

from __future__ import annotations

from typing import NamedTuple

from ...passes.copies import Store
from ...passes.errors import CodegenError, DoesNotFit
from ...passes.transfers import LoopExtent, Transfer, advances_evenly

MAX_POOL_STRIDE = 3
_MAX_COUNT = 255  # eight bits each for the lines and pixels of images
_MAX_ELEMENTS = 2**15 - 1  # that one command reads, of all of its windows


class PooledWalk(NamedTuple):
    """What the store unit is told: settings of CONFIG_ST, and the loops that they replace."""

    loops: tuple[LoopExtent, ...]
    pool_stride: int  # windows lie this many pixels, and lines, apart
    pool_out_dim: int  # pixels of a line in DRAM
    pool_out_rows: int
    pool_out_cols: int
    out_rows: int  # of the tile that the windows lie in
    out_cols: int
    pixel_bytes: int  # in DRAM

    @property
    def counts(self) -> dict[str, int]:
        """The settings that count lines or pixels, by their names in CONFIG_ST."""
        names = ("pool_out_dim", "pool_out_rows", "pool_out_cols", "out_rows", "out_cols")
        return {name: getattr(self, name) for name in names}


def pooled_walk(copy: Store, transfer: Transfer) -> PooledWalk:
    """The walk over lines and pixels of a pooled tile that saves most commands.

    The windows of the pixel loop must lie 1 to 3 rows apart, those of the line loop as many
    image lines, a line's bytes in DRAM be a multiple of a pixel's, and all counts fit the command.

    Raises
    ------
    DoesNotFit
        if not even a single window of the tile can be counted.
    CodegenError
        for a store that not all rows of a tile take part in.
    """
    if transfer.guards or not transfer.end_row.is_const:
        raise CodegenError("a pooling store takes whole tiles only")
    loops = [
        loop
        for loop in transfer.outer
        if advances_evenly(copy, loop) and not transfer.columns.depends_on(loop.loop_id)
    ]
    walks = [
        walk
        for pixel in (None, *loops)
        for line in (None, *loops)
        if line is None or line is not pixel
        for walk in (_walk(copy, line, pixel),)
        if walk is not None
    ]
    assert copy.pooling is not None
    most_windows = _MAX_ELEMENTS // copy.pooling[0] ** 2
    fitting = [
        walk
        for walk in walks
        if max(walk.counts.values()) <= _MAX_COUNT
        and walk.pool_out_rows * walk.pool_out_cols <= most_windows
    ]
    if not fitting:
        name, value = max(walks[0].counts.items(), key=lambda item: item[1])
        raise DoesNotFit(
            f"pooling tile: {name} is {value}, the store unit counts to {_MAX_COUNT}; "
            "use narrower tiles"
        )
    return max(fitting, key=lambda walk: walk.pool_out_rows * walk.pool_out_cols)


def _walk(copy: Store, line: LoopExtent | None, pixel: LoopExtent | None) -> PooledWalk | None:
    """The walk along these loops, or None if the store unit does not walk so."""
    assert copy.pooling is not None
    size, line_rows = copy.pooling
    pixel_rows, pixel_bytes = _steps(copy, pixel)
    line_step, line_bytes = _steps(copy, line)
    if pixel:
        stride = pixel_rows
    elif line:
        stride, pixel_bytes = line_step // max(line_rows, 1), line_bytes
    else:
        stride, pixel_bytes = 1, 1
    if not line:
        line_step, line_bytes = stride * line_rows, pixel_bytes
    if not 1 <= stride <= MAX_POOL_STRIDE or line_step != stride * line_rows:
        return None
    if pixel_bytes < 1 or line_bytes < 1 or line_bytes % pixel_bytes:
        return None
    lines, pixels = (loop.extent if loop else 1 for loop in (line, pixel))
    if size > 1 and pixel and (pixels - 1) * stride + size > line_rows:
        return None  # pixels of several lines: the unit leaves out what is past a line's end
    return PooledWalk(
        tuple(loop for loop in (line, pixel) if loop),
        stride,
        line_bytes // pixel_bytes,
        lines,
        pixels,
        (lines - 1) * stride + size,
        line_rows,
        pixel_bytes,
    )


def _steps(copy: Store, loop: LoopExtent | None) -> tuple[int, int]:
    """Rows of the tile, and bytes in DRAM, from one iteration to the next."""
    if loop is None:
        return 0, 0
    return copy.row.coefficient(loop.loop_id), copy.offset.coefficient(loop.loop_id)
