"""Packed weights: how a constant argument lies in DRAM where its loads are to be whole lines.

A weight's own layout gives a row of a tile as many bytes as there are output channels between it
and the next one. What is constant may lie in any order: packed, a tile's blocks of ``dim`` x
``dim`` elements follow each other in the order of the tile's rows in the scratchpad, and as many of
them as one load takes share their lines, a row of each. A load is then ``dim`` lines beside each
other, and the next load takes the next ones.

The layout follows from a kernel's schedule (:mod:`npu_target.passes.packings`). Whoever makes a
kernel's arguments packs them by it: a measurement, a build, C for the device's own host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np


class TileLoop(NamedTuple):
    """A loop over a tile: so many iterations, each ``step`` elements further along one dimension of
    the argument."""

    dimension: int
    step: int
    extent: int


class Pad(NamedTuple):
    """Zeros before and behind each dimension."""

    widths: tuple[tuple[int, int], ...]


class Reshape(NamedTuple):
    """The same elements in another shape."""

    shape: tuple[int, ...]


class Transpose(NamedTuple):
    """The dimensions in another order."""

    axes: tuple[int, ...]


Rearrangement = Pad | Reshape | Transpose


@dataclass(frozen=True)
class Packing:
    """The layout of one packed argument.

    shape : of the argument as its operator has it.
    loops : over a tile of it, in the order of the tile's rows, outermost first; the last two walk
        the ``dim`` rows and the ``dim`` columns of a block.
    blocks : how many blocks share their lines.
    transposed : whether the elements of a block are in the order of its columns.
    """

    shape: tuple[int, ...]
    loops: tuple[TileLoop, ...]
    blocks: int
    transposed: bool = False

    @property
    def dim(self) -> int:
        """Rows, and columns, of a block."""
        return self.loops[-1].extent

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """The elements of each dimension of the argument that a tile has."""
        return tuple(
            prod(loop.extent for loop in self.loops if loop.dimension == dimension)
            for dimension in range(len(self.shape))
        )

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """How many tiles there are along each dimension of the argument, the last one perhaps not
        full."""
        return tuple(-(-n // span) for n, span in zip(self.shape, self.spans, strict=True))

    @property
    def tile_order(self) -> tuple[int, ...]:
        """The dimensions by which tiles follow each other, outermost first: output channels, and
        within them the parts of a reduction, as they are loaded."""
        last = len(self.shape) - 1
        return (last, *range(last))

    @property
    def tile_blocks(self) -> int:
        """Blocks of a tile."""
        return prod(loop.extent for loop in self.loops[:-2])

    @property
    def tile_loads(self) -> int:
        """Loads of a tile; the last one may have fewer blocks."""
        return -(-self.tile_blocks // self.blocks)

    @property
    def load_elements(self) -> int:
        """Elements from a load to the next."""
        return self.blocks * self.dim * self.dim

    @property
    def packed_shape(self) -> tuple[int]:
        """Of the packed argument: one dimension, so that no other array is taken for it."""
        return (prod(self.tiles) * self.tile_loads * self.load_elements,)

    def pack(self, array: np.ndarray) -> np.ndarray:
        """The argument in its packed layout; what no element of it fills is 0.

        Raises
        ------
        ValueError
            for an array of another shape.
        """
        if array.shape != self.shape:
            raise ValueError(f"the packing is of shape {self.shape}, the array's is {array.shape}")
        for step in self.steps:
            if isinstance(step, Pad):
                array = np.pad(array, step.widths)
            elif isinstance(step, Reshape):
                array = array.reshape(step.shape)
            else:
                array = array.transpose(step.axes)
        return np.ascontiguousarray(array)

    @property
    def steps(self) -> tuple[Rearrangement, ...]:
        """What makes the packed argument of one, one after the other."""
        whole = zip(self.tiles, self.spans, self.shape, strict=True)
        split: list[int] = []
        tile_axes: list[int] = []
        loop_axes: dict[TileLoop, int] = {}
        for dimension, n in enumerate(self.tiles):
            tile_axes.append(len(split))
            split.append(n)
            loops = [loop for loop in self.loops if loop.dimension == dimension]
            for loop in sorted(loops, key=lambda loop: -loop.step):
                loop_axes[loop] = len(split)
                split.append(loop.extent)
        axes = [tile_axes[d] for d in self.tile_order] + [loop_axes[loop] for loop in self.loops]
        if self.transposed:
            axes[-2:] = axes[:-3:-1]
        dim, n_tiles, n_loads = self.dim, prod(self.tiles), self.tile_loads
        missing = n_loads * self.blocks - self.tile_blocks
        return (
            Pad(tuple((0, n * span - size) for n, span, size in whole)),
            Reshape(tuple(split)),
            Transpose(tuple(axes)),
            Reshape((n_tiles, self.tile_blocks, dim, dim)),
            Pad(((0, 0), (0, missing), (0, 0), (0, 0))),
            Reshape((n_tiles, n_loads, self.blocks, dim, dim)),
            Transpose((0, 1, 3, 2, 4)),
            Reshape(self.packed_shape),
        )

    def to_json(self) -> str:
        """The layout as text; :meth:`from_json` is the way back."""
        fields = {"shape": self.shape, "loops": self.loops, "blocks": self.blocks}
        return json.dumps({**fields, "transposed": True} if self.transposed else fields)

    @classmethod
    def from_json(cls, text: str) -> Packing:
        """The layout that `to_json` wrote."""
        fields = json.loads(text)
        loops = tuple(TileLoop(*loop) for loop in fields["loops"])
        transposed = fields.get("transposed", False)
        return cls(tuple(fields["shape"]), loops, fields["blocks"], transposed)


def packed(
    arrays: Mapping[str, np.ndarray], packings: Mapping[str, Packing]
) -> dict[str, np.ndarray]:
    """Arrays by the names of arguments, those that have a packing in their packed layout."""
    return {
        name: packings[name].pack(array) if name in packings else array
        for name, array in arrays.items()
    }
