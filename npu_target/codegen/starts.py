"""Sums that start by being overwritten: the first step of a reduction needs no zeros to add to.

A definition without a bias sets its sums to zero first.  Where each tile of zeros is added to by
one whole reduction, the steps of its first part write instead of adding, and the zeros are left
out: they would keep the copy engine busy for about as many cycles as there are rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from .nests import Branch, CopyNest, Nest, Repeat, Sequence, Statement, StepNest


def overwritten_sums(parts: Iterable[Statement]) -> set[Nest]:
    """The zeros to leave out, and the steps that overwrite in the first part of their reduction:
    all of a tile, or none."""
    tiles: dict[str, _Tile] = {}
    for part in parts:
        _visit(part, 1, tiles)
    return {nest for tile in tiles.values() if tile.is_overwritten for nest in tile.nests}


class _Tile:
    """What is done to a tile of sums, and how often."""

    def __init__(self) -> None:
        self.nests: list[Nest] = []
        self.n_zeros = self.n_steps = 0
        self.is_known = True

    @property
    def is_overwritten(self) -> bool:
        """Whether zeros and steps alternate.  Steps follow zeros: where a reduction is in several
        parts, there are more of them."""
        return self.is_known and self.n_zeros == self.n_steps


def _visit(stmt: Statement, times: int, tiles: dict[str, _Tile]) -> None:
    """Count what a statement does that runs so many times; 0 where that is not known."""
    if isinstance(stmt, Sequence):
        for part in stmt.parts:
            _visit(part, times, tiles)
    elif isinstance(stmt, Repeat):
        _visit(stmt.body, times * stmt.extent, tiles)
    elif isinstance(stmt, Branch):
        _visit(stmt.then, 0, tiles)
        _visit(stmt.otherwise, 0, tiles)
    elif isinstance(stmt, (CopyNest, StepNest)) and stmt.sums is not None:
        tile = tiles.setdefault(stmt.sums, _Tile())
        tile.nests.append(stmt)
        if not times:
            tile.is_known = False
        elif isinstance(stmt, StepNest):
            tile.n_steps += times
        elif stmt.is_zeros:
            tile.n_zeros += times
        else:
            tile.is_known = False
