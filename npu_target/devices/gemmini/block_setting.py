"""The setting of stores that is another for each block of channels: each has a scale of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from typing import NamedTuple

from ...codegen.operands import to_expr
from ...codegen.operations import LoopIds
from ...passes.linear import Linear
from ...passes.transfers import LoopExtent
from ...program import Command, Operand, maximum, minimum, table, wrap_int64
from .config import GemminiConfig
from .isa import ConfigSt


class BlockSetting(NamedTuple):
    """CONFIG_ST with ``scales[block]`` in the place of its scale, before stores of ``block``."""

    setting: ConfigSt
    scales: tuple[float, ...]
    config: GemminiConfig
    ids: LoopIds

    def command(self, block: Linear, loops: Sequence[LoopExtent]) -> Command:
        """For a block; ``loops`` are those around that have other extents than they were made
        with."""
        low, high = self.ids.bounds(block, loops)
        words = []
        # All of them, so that stores of other blocks have the same table; and where conditions
        # leave out blocks before the first or behind the last, words for these.
        last = len(self.scales) - 1
        if isinf(low):  # a quotient of a loop over more than blocks
            first, behind = 0, last + 1
            index = minimum(maximum(to_expr(block), 0), last)
        else:
            first, behind = min(int(low), 0), max(int(high), last) + 1
            index = to_expr(block - first)
        for number in range(first, behind):
            scale = self.scales[min(max(number, 0), last)]
            setting = replace(self.setting, scale=scale)
            setting.validate(self.config)
            funct, rs1, rs2 = setting.encode()
            words.append(wrap_int64(rs2))
        return Command(funct, Operand.of(rs1), Operand.of(table(index, words)))
