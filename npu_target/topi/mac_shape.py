"""The loop extents of a multiply-accumulate operator, and the memory that a tile of it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from ..device import DeviceConfig
from .add import Add
from .blocking import balanced_steps, ceil_div
from .conv2d import Conv2d
from .depthwise import DepthwiseConv2d
from .joined_conv2d import image_rows, takes_joined
from .mac_schedule import KERNEL_LOOPS, MacStructure
from .matmul import Matmul
from .operator import Operator
from .pool import GlobalAvgPool
from .window_conv2d import strips
from .window_parts import Parts

TILED = ("blocks", "lines", "steps", "depth", "kernel_h", "kernel_w")
# What the array computes.
MacOperator = Conv2d | DepthwiseConv2d | Matmul | Add | GlobalAvgPool
# Tile sizes by the names in TILED: of one tile, or of many as NumPy arrays.
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class MacShape:
    """Extents of the loops that tiles are cut from, and what surrounds them.

    ``blocks`` output channel blocks, ``lines`` and ``steps`` output pixels (``rows`` pixels a
    step), ``depth`` input channel blocks; ``dim`` channels a block.
    """

    blocks: int
    lines: int
    steps: int
    depth: int
    rows: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dim: int
    depthwise: bool = False
    image_rows: int | None = None  # of a block of input channels, where tiles take it whole
    # Rows of an operand that is the same for every tile and block: multipliers, a row of ones.
    same_a_rows: int | None = None
    same_b_rows: int | None = None
    windows: Parts | None = None  # which are not cut into tiles

    @classmethod
    def of(cls, operator: Operator, config: DeviceConfig) -> MacShape | None:
        """The shape, or None for an operator that the array has no part in."""
        dim = config.dim
        if isinstance(operator, Matmul):
            steps = balanced_steps(operator.m, dim)
            depth, blocks = ceil_div(operator.k, dim), ceil_div(operator.n, dim)
            return cls(blocks, 1, steps.number, depth, steps.rows, (1, 1), (1, 1), dim)
        if isinstance(operator, GlobalAvgPool):
            depth, blocks = ceil_div(operator.h * operator.w, dim), ceil_div(operator.c, dim)
            return cls(blocks, 1, 1, depth, 1, (1, 1), (1, 1), dim, same_a_rows=1)
        if isinstance(operator, Add):
            steps, blocks = operator.steps(config), operator.blocks(config)
            return cls(
                blocks,
                1,
                steps.number,
                1,
                steps.rows,
                (2, 1),
                (1, 1),
                dim,
                True,
                same_b_rows=2 * dim,
            )
        if not isinstance(operator, (Conv2d, DepthwiseConv2d)):
            return None
        window = operator.window
        steps = window.steps(config)
        kernel = (operator.kh, operator.kw)
        strides = (
            operator.strides if isinstance(operator, DepthwiseConv2d) else operator.tile_strides
        )
        pixels = window.out_h, steps.number
        if isinstance(operator, DepthwiseConv2d):
            blocks = ceil_div(operator.c, dim)
            return cls(blocks, *pixels, 1, steps.rows, kernel, strides, dim, depthwise=True)
        blocks, depth = ceil_div(operator.co, dim), ceil_div(operator.ci, dim)
        if operator.windows:
            widest = strips(operator)[0]
            parts, by_column, lines, steps = widest.walk(operator, config)
            kernel, strides = (kernel[0], 1), (strides[0], 1)
            if by_column:
                kernel, strides = (1, kernel[0]), (1, strides[0])
            return cls(
                blocks,
                lines,
                steps.number,
                1,
                steps.rows,
                kernel,
                strides,
                dim,
                windows=parts,
            )
        if not operator.windows and takes_joined(operator, config):
            rows, a_rows = window.out_h * window.out_w, image_rows(operator)
            return cls(blocks, 1, 1, depth, rows, kernel, strides, dim, False, a_rows)
        return cls(blocks, *pixels, depth, steps.rows, kernel, strides, dim)

    def extent(self, name: str) -> int:
        """The extent of one of :data:`TILED`."""
        return (
            self.kernel[KERNEL_LOOPS.index(name)] if name in KERNEL_LOOPS else getattr(self, name)
        )

    @property
    def reduction(self) -> int:
        """Blocks of weights that add to the same sums."""
        return self.windows.steps if self.windows else self.depth * prod(self.kernel)

    def a_rows(self, tile: Sizes) -> Any:
        """Scratchpad rows of the inputs of a tile."""
        if self.same_a_rows is not None:
            return self.same_a_rows
        if self.image_rows is not None:
            return tile["depth"] * self.image_rows
        lines = (tile["lines"] - 1) * self.strides[0] + tile["kernel_h"]
        pixels = (tile["steps"] * self.rows - 1) * self.strides[1] + tile["kernel_w"]
        channel_blocks = tile["blocks"] if self.depthwise else tile["depth"]
        if self.windows:
            channel_blocks = self.windows.depth
            pixels += self.windows.last.lines - 1
        return channel_blocks * lines * pixels

    def b_rows(self, tile: Sizes) -> Any:
        """Scratchpad rows of the weights of a tile."""
        if self.same_b_rows is not None:
            return self.same_b_rows
        if self.windows:
            return self.reduction * tile["blocks"] * self.dim
        return tile["kernel_h"] * tile["kernel_w"] * tile["depth"] * tile["blocks"] * self.dim

    def c_rows(self, tile: Sizes, wide: bool = False) -> Any:
        """Accumulator rows of a tile; ``wide`` as in :class:`MacStructure`."""
        rows = self.dim if wide else self.rows
        return tile["blocks"] * tile["lines"] * tile["steps"] * rows

    def fits(self, structure: MacStructure, tile: Sizes, config: DeviceConfig) -> Any:
        """Whether tiles in a structure, and their versions, have room in a device's memories."""
        versions = 2 if structure.pipelined else 1
        weights_stay = structure.kept and structure.tiles == "weights_kept"
        inputs_stay = structure.kept and not weights_stay
        scratchpad = (1 if inputs_stay else versions) * self.a_rows(self.loaded(structure, tile))
        scratchpad += (1 if weights_stay else versions) * self.b_rows(tile)
        sums = (versions if structure.two_sums else 1) * self.c_rows(tile, structure.wide)
        return (scratchpad <= config.spad_rows) & (sums <= config.acc_rows)

    def orders_matter(self, structure: MacStructure, tile: Sizes) -> tuple[Any, Any]:
        """Whether another order of a tile's steps, and of the tiles, makes another program: a loop
        of one iteration is the same wherever it is."""
        pixels = (self.lines // tile["lines"]) * (self.steps // tile["steps"])
        tiles = (self.blocks // tile["blocks"] > 1) & (pixels > 1)
        return tile["blocks"] > 1, structure.kept | tiles

    def loaded(self, structure: MacStructure, tile: Sizes) -> Sizes:
        """The tile of inputs that a structure loads at once: where inputs stay and each block of
        outputs has inputs of its own, those of all blocks."""
        if not (self.depthwise and structure.kept and structure.tiles == "inputs_kept"):
            return tile
        return {**tile, "blocks": self.blocks}
