"""The loop extents of a multiply-accumulate operator, and the memory that a tile of it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import DeviceConfig
from .mac_structure import KERNEL_LOOPS, MacStructure
from .operator import Arg
from .window import Window

if TYPE_CHECKING:
    from .conv2d.window_parts import Parts

TILED = ("blocks", "lines", "steps", "depth", "kernel_h", "kernel_w")
# Tile sizes by the names in TILED: of one tile, or of many as NumPy arrays.
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class Tensor:
    """What tiles are loaded from, or stored to: so many ``elements`` of ``element_bytes``, in lines
    of ``width`` elements that follow each other in DRAM."""

    elements: int
    width: int
    element_bytes: int = 1

    @classmethod
    def of(cls, arg: Arg, width: int | None = None) -> Tensor:
        """An argument, whose lines are its innermost dimension unless they are given."""
        item_bytes = np.dtype(arg.dtype).itemsize
        return cls(prod(arg.shape), arg.shape[-1] if width is None else width, item_bytes)


@dataclass(frozen=True)
class MacShape:
    """Extents of the loops that tiles are cut from, and what surrounds them.

    blocks, lines, steps, depth : output channel blocks, output lines, steps of ``rows`` output
        pixels, input channel blocks.
    dim : channels of a block.
    inputs, weights, outputs : what the step takes as A and B, and what its sums become.
    kernel, strides : positions of the kernel, and how far apart neighbouring outputs' inputs are
        in a tile.
    batch : how often all that is done, with other inputs.
    depthwise : whether each output block has an input block of its own.
    window : over the image that the inputs are, where they are one.
    image_rows : of a block of input channels, where tiles take it whole.
    image_pixels : of these rows, how many hold pixels of the image; the others pad it.
    same_a_rows, same_b_rows : rows of an operand that is the same for every tile and block: a row
        of ones, multipliers.
    windows : where rows of inputs hold windows; these are not cut into tiles.
    """

    blocks: int
    lines: int
    steps: int
    depth: int
    rows: int
    dim: int
    inputs: Tensor
    weights: Tensor
    outputs: Tensor
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    batch: int = 1
    depthwise: bool = False
    window: Window | None = None
    image_rows: int | None = None
    image_pixels: int = 0
    same_a_rows: int | None = None
    same_b_rows: int | None = None
    windows: Parts | None = None

    @property
    def canonical(self) -> MacShape:
        """One for all that the same schedules serve equally: the value of a padding does not change
        the time that they take."""
        return self if self.window is None else replace(self, window=self.window.canonical)

    def extent(self, name: str) -> int:
        """The extent of one of :data:`TILED`."""
        return (
            self.kernel[KERNEL_LOOPS.index(name)] if name in KERNEL_LOOPS else getattr(self, name)
        )

    @property
    def reduction(self) -> int:
        """Blocks of weights that add to the same sums."""
        return self.windows.steps if self.windows else self.depth * prod(self.kernel)

    @property
    def input_channels(self) -> int:
        """Channels of the image that the inputs are."""
        assert self.window is not None
        return self.inputs.elements // (self.batch * self.window.h * self.window.w)

    def a_rows(self, tile: Sizes) -> Any:
        """Rows of memory for the inputs of a tile."""
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
        """Rows of memory for the weights of a tile."""
        if self.same_b_rows is not None:
            return self.same_b_rows
        if self.windows:
            return self.reduction * tile["blocks"] * self.dim
        return tile["kernel_h"] * tile["kernel_w"] * tile["depth"] * tile["blocks"] * self.dim

    def c_rows(self, tile: Sizes, wide: bool = False) -> Any:
        """Rows of sums of a tile; ``wide`` as in :class:`MacStructure`."""
        rows = self.dim if wide else self.rows
        return tile["blocks"] * tile["lines"] * tile["steps"] * rows

    def fits(self, structure: MacStructure, tile: Sizes, config: DeviceConfig) -> Any:
        """Whether tiles in a structure, and their versions, have room in a device's memories."""
        versions = 2 if structure.pipelined else 1
        weights_stay = structure.kept and structure.tiles == "weights_kept"
        inputs_stay = structure.kept and not weights_stay
        return config.memories.have_room(
            inputs=(1 if inputs_stay else versions) * self.a_rows(self.loaded(structure, tile)),
            weights=(1 if weights_stay else versions) * self.b_rows(tile),
            sums=(versions if structure.two_sums else 1) * self.c_rows(tile, structure.wide),
        )

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
