"""Dependences between statements, told from the tiles that they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..passes.linear import Linear
from ..passes.memory import Placement


class Touched(NamedTuple):
    """A version of a tile that a statement reads or writes."""

    tile: Placement
    version: Linear

    def conflicts(self, other: Touched) -> bool:
        """Whether both may touch the same rows; tiles may share them, one after the other."""
        mine, tile = self.tile, other.tile
        if mine is not tile and not mine.overlaps(tile):
            return False
        if mine is tile or mine == tile:
            apart = self.version - other.version
            return not apart.is_const or apart.const == 0
        return True


def conflict(ours: Sequence[Touched], theirs: Sequence[Touched]) -> bool:
    """Whether two statements may touch the same rows."""
    for mine in ours:
        for other in theirs:
            if mine.conflicts(other):
                return True
    return False
