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
        if self.tile == other.tile:
            apart = self.version - other.version
            if apart.is_const:
                return apart.const == 0
        return self.tile.overlaps(other.tile)


def conflict(ours: Sequence[Touched], theirs: Sequence[Touched]) -> bool:
    """Whether two statements may touch the same rows."""
    for mine in ours:
        for other in theirs:
            if mine.conflicts(other):
                return True
    return False
