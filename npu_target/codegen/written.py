"""Rows of tiles that are read: a function has to write them all, and before.

TVM takes the rows that a loop goes through for all those between the first and the last. Where the
loop over tiles is inside of the one over their parts that is not so: rows 0, 2, 4 are made in one
iteration of the outer loop, 1, 3, 5 in the next. `reverse_compute_at` then puts a copy of rows 0 to
4 into that loop, and the tile, which is allocated in it, holds in each iteration what was there
before; so does one whose loops are ordered such that a window's rows come in different iterations.
TVM's own code generators compute wrong values of such schedules; here they are refused. So is a
load behind the steps that read what it loads, where `reverse_compute_at` puts it if these are
tensorized.

Whether rows are written before they are read is asked of what steps read, in the first iterations:
of each loop around several statements those find what statements before it left, and nothing of its
own iterations. Sums may be added to and stored before they are set: what counts is set later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from ..device.intrinsic import Access
from ..passes.copies import Store
from ..passes.errors import CodegenError
from ..passes.linear import Linear
from ..passes.transfers import LoopExtent, names_of
from .nests import CopyNest, StepNest
from .rows import mask_of, rows_over
from .statements import Branch, Repeat, Sequence, Statement, Unsupported


def check_written(parts: Iterable[Statement], allocated_in: Mapping[str, Set[int]]) -> None:
    """Raise CodegenError where statements read rows of a tile that none of them writes in the same
    iteration of the loops that the tile is ``allocated_in``, by symbols, and where steps read rows
    of which nothing has been written before."""
    rows = _Rows(allocated_in)
    for part in parts:
        rows.visit(part, is_first=True)
    for tile, read in rows.read.items():
        if read & ~rows.written.get(tile, 0):
            if rows.unsupported is not None:
                raise CodegenError(rows.unsupported.text, rows.unsupported.at)
            raise CodegenError(
                f"rows of tile {tile} are read that nothing writes: in an iteration of the loop "
                "that holds it not all rows between the first and the last are made; put the "
                "loops over tiles outside of those inside of tiles, or the copy that reads them "
                "behind these loops",
                tile,
            )
    if rows.unsupported is None and rows.too_early is not None:
        tile, nest = rows.too_early
        raise CodegenError(
            f"rows of tile {tile} are read before anything writes them: what does comes behind, in "
            "the same iteration of the loops around; put it before",
            nest.leaf,
        )


Nest = CopyNest | StepNest


class _Use(NamedTuple):
    """Rows of a tile that a nest reads or writes: those of ``mask``, moved by ``row``."""

    tile: str
    is_read: bool
    is_operand: bool  # of a step, which only reads it
    row: Linear
    mask: int
    loops: tuple[LoopExtent, ...]  # of the nest


class _Rows:
    """Collects the rows of each tile that statements write (beside adding to them) and read."""

    def __init__(self, allocated_in: Mapping[str, Set[int]]) -> None:
        self._allocated_in = allocated_in
        self.written: dict[str, int] = {}
        self.read: dict[str, int] = {}
        self.too_early: tuple[str, Nest] | None = None  # the first one
        self.unsupported: Unsupported | None = None  # the first one
        self._ranges: dict[int, range] = {}
        self._starts: dict[int, int] = {}  # of loops
        self._names: dict[int, str] = {}
        self._uses: dict[Nest, list[_Use]] = {}

    def visit(self, stmt: Statement, is_first: bool) -> None:
        """A statement with all that is in it; whether it is come to for the first time, with all
        that is done before in the rows so far."""
        if isinstance(stmt, Sequence):
            for part in stmt.parts:
                self.visit(part, is_first)
        elif isinstance(stmt, Repeat):
            self._names[stmt.symbol] = stmt.name
            self._starts[stmt.symbol] = stmt.start
            if is_first:
                self._ranges[stmt.symbol] = range(stmt.start, stmt.start + 1)
                self.visit(stmt.body, True)
            if not is_first or stmt.extent > 1:
                self._ranges[stmt.symbol] = range(stmt.start, stmt.start + stmt.extent)
                self.visit(stmt.body, False)
        elif isinstance(stmt, Branch):
            self._visit_where(stmt, True, stmt.then, is_first)
            self._visit_where(stmt, False, stmt.otherwise, is_first)
        elif isinstance(stmt, Unsupported):
            self.unsupported = self.unsupported or stmt
        elif isinstance(stmt, (CopyNest, StepNest)):
            self._nest(stmt, is_first)

    def _visit_where(self, branch: Branch, holds: bool, stmt: Statement, is_first: bool) -> None:
        """A statement that is under a condition, for the iterations in which that holds, or does
        not: all of them where it is not a matter of one loop."""
        symbol = next(iter(branch.symbols)) if len(branch.symbols) == 1 else None
        if not isinstance(symbol, int) or symbol not in self._ranges:
            self.visit(stmt, False)  # maybe not in the first iterations
            return
        before = self._ranges[symbol]
        found = {i: branch.holds({symbol: Linear(i)}) for i in before}
        taken = [i for i in before if found[i] in (holds, None)]
        if taken:
            self._ranges[symbol] = range(taken[0], taken[-1] + 1)
            self.visit(stmt, is_first and None not in found.values())
            self._ranges[symbol] = before

    def _nest(self, nest: Nest, is_first: bool) -> None:
        if nest not in self._uses:
            found = _of_copy(nest) if isinstance(nest, CopyNest) else _of_steps(nest)
            self._uses[nest] = list(found)
        uses = [(use, self._rows(use)) for use in self._uses[nest]]
        for use, rows in uses:
            of_tile = self.read if use.is_read else self.written
            of_tile[use.tile] = of_tile.get(use.tile, 0) | rows
        if is_first and self.too_early is None:
            for use, rows in uses:
                known = rows & self.written.get(use.tile, 0)
                if use.is_operand and not known:
                    self.too_early = use.tile, nest
                    return

    def _rows(self, use: _Use) -> int:
        ranges = self._ranges | {loop.loop_id: range(loop.extent) for loop in use.loops}
        for symbol in self._allocated_in.get(use.tile, ()):
            if symbol in self._starts:
                ranges[symbol] = range(self._starts[symbol], self._starts[symbol] + 1)
        found = rows_over(use.row, ranges, use.mask)
        if found is None:
            text = use.row.text({**self._names, **names_of(list(use.loops))})
            raise CodegenError(
                f"which rows of tile {use.tile} are used cannot be told from {text}", use.tile
            )
        return found


def _of_copy(nest: CopyNest) -> Iterable[_Use]:
    for copy, loops in nest.parts:
        is_read, mask = isinstance(copy, Store) or copy.accumulate, 1
        if isinstance(copy, Store) and copy.pooling is not None:
            size, line_rows = copy.pooling
            mask = mask_of(i * line_rows + j for i in range(size) for j in range(size))
        yield _Use(nest.tile, is_read, False, copy.row, mask, tuple(loops))


def _of_steps(nest: StepNest) -> Iterable[_Use]:
    step = nest.step({})
    for tile, operand, row in zip(nest.tiles, step.operands, step.first_rows, strict=True):
        is_read, is_operand = operand.access is not Access.WRITE, operand.access is Access.READ
        mask = mask_of(operand.offsets())
        yield _Use(tile, is_read, is_operand, row, mask, tuple(nest.loops))
