"""Rows of tiles that are read: a function has to write them all.

TVM takes the rows that a loop goes through for all those between the first and the last. Where the
loop over tiles is inside of the one over their parts that is not so: rows 0, 2, 4 are made in one
iteration of the outer loop, 1, 3, 5 in the next. `reverse_compute_at` then puts a copy of rows 0 to
4 into that loop, and the tile, which is allocated in it, holds in each iteration what was there
before. TVM's own code generators compute wrong values of such a schedule; here it is refused.
When rows are written is not asked: definitions do that before they are read.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..device.intrinsic import Access
from ..passes.copies import Store
from ..passes.errors import CodegenError
from ..passes.linear import Linear
from ..passes.transfers import LoopExtent, names_of
from .nests import CopyNest, StepNest
from .rows import mask_of, rows_over
from .statements import Branch, Repeat, Sequence, Statement, Unsupported


def check_written(parts: Iterable[Statement]) -> None:
    """Raise CodegenError where statements read rows of a tile that none of them writes."""
    rows = _Rows()
    for part in parts:
        rows.visit(part)
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


class _Rows:
    """Collects the rows of each tile that statements write (beside adding to them) and read."""

    def __init__(self) -> None:
        self.written: dict[str, int] = {}
        self.read: dict[str, int] = {}
        self.unsupported: Unsupported | None = None  # the first one
        self._ranges: dict[int, range] = {}
        self._names: dict[int, str] = {}  # of loops

    def visit(self, stmt: Statement) -> None:
        """A statement with all that is in it."""
        if isinstance(stmt, Sequence):
            for part in stmt.parts:
                self.visit(part)
        elif isinstance(stmt, Repeat):
            self._names[stmt.symbol] = stmt.name
            self._ranges[stmt.symbol] = range(stmt.start, stmt.start + stmt.extent)
            self.visit(stmt.body)
        elif isinstance(stmt, Branch):
            self._visit_where(stmt, True, stmt.then)
            self._visit_where(stmt, False, stmt.otherwise)
        elif isinstance(stmt, Unsupported):
            self.unsupported = self.unsupported or stmt
        elif isinstance(stmt, CopyNest):
            self._copy(stmt)
        elif isinstance(stmt, StepNest):
            self._steps(stmt)

    def _visit_where(self, branch: Branch, holds: bool, stmt: Statement) -> None:
        """A statement that is under a condition, for the iterations in which that holds, or does
        not: all of them where it is not a matter of one loop."""
        symbol = next(iter(branch.symbols)) if len(branch.symbols) == 1 else None
        if not isinstance(symbol, int) or symbol not in self._ranges:
            self.visit(stmt)
            return
        before = self._ranges[symbol]
        taken = [i for i in before if branch.holds({symbol: Linear(i)}) in (holds, None)]
        if taken:
            self._ranges[symbol] = range(taken[0], taken[-1] + 1)
            self.visit(stmt)
            self._ranges[symbol] = before

    def _copy(self, nest: CopyNest) -> None:
        for copy, loops in nest.parts:
            if isinstance(copy, Store):
                offsets = [0]
                if copy.pooling is not None:
                    size, line_rows = copy.pooling
                    offsets = [i * line_rows + j for i in range(size) for j in range(size)]
                self._add(self.read, nest.tile, loops, copy.row, mask_of(offsets))
            else:
                rows = self.read if copy.accumulate else self.written
                self._add(rows, nest.tile, loops, copy.row, 1)

    def _steps(self, nest: StepNest) -> None:
        step = nest.step({})
        for tile, operand, row in zip(nest.tiles, step.operands, step.first_rows, strict=True):
            rows = self.written if operand.access is Access.WRITE else self.read
            self._add(rows, tile, nest.loops, row, mask_of(operand.offsets()))

    def _add(
        self,
        rows: dict[str, int],
        tile: str,
        loops: Iterable[LoopExtent],
        row: Linear,
        mask: int,
    ) -> None:
        ranges = self._ranges | {loop.loop_id: range(loop.extent) for loop in loops}
        found = rows_over(row, ranges, mask)
        if found is None:
            text = row.text({**self._names, **names_of(list(loops))})
            raise CodegenError(
                f"which rows of tile {tile} are used cannot be told from {text}", tile
            )
        rows[tile] = rows.get(tile, 0) | found
