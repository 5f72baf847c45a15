"""Nests around loads of packed weights."""

from __future__ import annotations

from functools import cached_property

from tvm import tirx
from tvm.tirx import BufferStore

from ..device.copy_rules import CopyRules
from ..intrin import PACKED
from ..packing import Packing
from ..passes.bounds import counting
from ..passes.copies import Load, Store
from ..passes.errors import CodegenError
from ..passes.linear import Linear, all_linear
from ..passes.packings import packed_element, tile_number
from ..passes.transfers import LoopExtent, Transfer, plan_transfer
from .nests import CopyNest, CopyPart, TileReader, Values


class PackedNest(CopyNest):
    """A nest around a load of packed weights: its tile lies in DRAM as in its memory, in loads
    of whole lines."""

    def __init__(
        self,
        reader: TileReader,
        loops: list[tirx.For],
        guards: list[tirx.Expr],
        leaf: BufferStore,
        packing: Packing,
    ) -> None:
        super().__init__(reader, loops, guards, leaf)
        own = {loop.loop_id: loop.extent for loop in self.loops}
        element = packed_element(leaf, reader.config.memories.weights.dtype)
        indices = all_linear(element.indices, self._symbols)
        as_it_is = self._recognised()
        if counting(as_it_is.row, own) is None:
            raise CodegenError(
                f"a load marked {PACKED} fills rows of tile {self.tile} with others between them: "
                "all loops over the tile's inner dimensions have to be inside of the marked one",
                leaf,
            )
        first_row = as_it_is.row.without(*own)
        tile = tile_number(packing, [index.without(*own) for index in indices])
        dim, line = packing.dim, packing.blocks * packing.dim
        whole, rest = divmod(packing.tile_blocks, packing.blocks)
        self.loops = []
        self._parts: list[CopyPart] = []
        for first, loads, blocks in ((0, whole, packing.blocks), (whole, 1, rest)):
            if not blocks:
                continue
            every = [LoopExtent(reader.fresh(), extent) for extent in (loads, blocks, dim, dim)]
            around = tuple(loop for loop in every if loop.extent > 1)
            if loads > 1:
                self.loops.append(around[0])
            by = [Linear.loop(loop.loop_id) if loop.extent > 1 else Linear() for loop in every]
            load, block, row, column = by
            number = load + first
            part = as_it_is._replace(
                row=first_row + (number * packing.blocks + block) * dim + row,
                column=column,
                offset=(tile * packing.tile_loads + number) * packing.load_elements
                + row * line
                + block * dim
                + column,
                valid=(),
            )
            self._parts.append((part, around))

    def transfers(self, deciding: Values, rules: CopyRules) -> list[tuple[Load | Store, Transfer]]:
        return [(part, plan_transfer(part, loops, rules)) for part, loops in self._parts]

    @cached_property
    def copy(self) -> Load | Store:
        return self._parts[0][0]

    @property
    def parts(self) -> list[CopyPart]:
        return self._parts
