"""Cycles that tiles of a multiply-accumulate cannot be below, told from their sizes alone.

A search looks at thousands of tilings this way in the time that compiling a few takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from ...topi.mac_shape import MacShape, Sizes
from ...topi.mac_structure import MacStructure
from ...topi.window import Window
from .config import GemminiConfig
from .gemm import step_sizes


@dataclass(frozen=True)
class TileBound:
    """Tiles of sizes ``tile``, by the names in TILED, in a structure of an operator's schedules."""

    shape: MacShape
    structure: MacStructure
    tile: Sizes

    @cached_property
    def _blocks(self) -> int:
        """Tiles along the output channels."""
        return self.shape.blocks // self.tile["blocks"]

    @cached_property
    def _pixels(self) -> int:
        """Tiles along the output's lines and pixels."""
        return prod(self.shape.extent(name) // self.tile[name] for name in ("lines", "steps"))

    def array_cycles(self) -> int:
        """Cycles of the array at least: for each block of weights and tile of pixels the steps
        over its rows, of which the longest may hide behind the preload of the weights."""
        shape, dim = self.shape, self.shape.dim
        line = self.tile["steps"] * shape.rows
        rows = self.tile["lines"] * line
        # Steps are cut anew along a line, and over lines without a halo between them, or not;
        # those of wide sums are not.
        follows = line if shape.kernel[1] > 1 else rows
        cuts = (shape.rows,) if self.structure.wide else (shape.rows, line, follows)
        longest = max(_longest(cut, dim) for cut in cuts)
        if shape.same_b_rows is not None:  # they may stay past all rows
            longest = dim
        weights = shape.batch * shape.blocks * shape.reduction
        return self._pixels * weights * (rows - longest + dim)

    def load_beats(self, config: GemminiConfig) -> int:
        """Transfers of the bus at least, for loading both operands as often as the order of the
        tiles has it."""
        shape = self.shape
        # What is the same for all tiles leaves an operand that is read once.
        if shape.same_b_rows is not None:
            return shape.inputs.elements // config.bus_bytes
        if shape.same_a_rows is not None:
            return shape.weights.elements // config.bus_bytes
        if shape.depthwise:
            return 0
        kept, weights_kept = self.structure.kept, self.structure.tiles == "weights_kept"
        loaded = (1 if kept and weights_kept else self._pixels) * shape.weights.elements
        times = 1 if kept and not weights_kept else self._blocks
        if shape.image_rows is not None:
            loaded += times * shape.batch * shape.image_pixels * shape.input_channels
        elif shape.window is None:
            loaded += times * shape.inputs.elements
        elif shape.windows is None:
            loaded += times * self._pixels_read(shape.window) * shape.input_channels
        return loaded // config.bus_bytes

    def _pixels_read(self, window: Window) -> int:
        """Pixels of the image that all tiles of one block of channels need."""
        (down, right), (top, left, _, _) = window.strides, window.pad
        step = self.tile["steps"] * self.shape.rows
        lines = _covered(window.h, window.kh, down, top, window.out_h, self.tile["lines"])
        pixels = _covered(window.w, window.kw, right, left, window.out_w, step)
        return self.shape.batch * lines * pixels


def _longest(rows: int, dim: int) -> int:
    """The longest of the steps that so many rows following each other are cut into."""
    return rows if rows <= dim else max(size for size, _ in step_sizes(rows, dim))


def _covered(size: int, kernel: int, stride: int, before: int, out: int, tile: int) -> int:
    """How many elements of a dimension of an image are read by tiles of its output, those read
    by several as often; of a kernel with a single position only what it meets."""
    total = 0
    for first in range(0, out, tile):
        last = min(first + tile, out) - 1
        if kernel == 1:
            total += sum(0 <= i * stride - before < size for i in range(first, last + 1))
        else:
            total += min(size, last * stride - before + kernel) - max(0, first * stride - before)
    return total
