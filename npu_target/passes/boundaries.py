"""Boundaries: loops of a copy cut where what its conditions say changes.

What is left of a condition bounds the rows or the columns of a command
(:mod:`npu_target.passes.transfers`), or is evaluated in the program.
"""

from __future__ import annotations

from typing import NamedTuple

from ..device.copy_rules import CopyRules
from .copies import Load, Store
from .linear import Linear
from .transfers import LoopExtent, block_loop, column_loop

# A condition that depends in so many iterations of a loop stays an expression of the program.
_MAX_PARTIAL_ITERATIONS = 4


def split_boundaries(
    copy: Load | Store, loops: tuple[LoopExtent, ...], rules: CopyRules
) -> list[tuple[Load | Store, tuple[LoopExtent, ...]]]:
    """Cut loops where what a condition says changes, so that it need not be evaluated again and
    again: the last block of channels is narrower, the first line is padding."""
    if not copy.valid:
        return [(copy, loops)]
    column = column_loop(copy, loops)
    block = block_loop(copy, column, [loop for loop in loops if loop is not column], rules)
    for form in copy.valid:
        loop = _loop_to_cut(copy, form, loops, column, block)
        if loop is None:
            continue
        pieces = _pieces(form, loop, loops)
        if len(pieces) == 1 and pieces[0].holds is None and loop.extent > 1:
            continue
        parts: list[tuple[Load | Store, tuple[LoopExtent, ...]]] = []
        for piece in pieces:
            part, around = _restrict(copy, loops, loop, piece.start, piece.end)
            rest = tuple(f for f, g in zip(part.valid, copy.valid, strict=True) if g is not form)
            if piece.holds is None:
                parts.append((part, around))
            elif piece.holds:
                parts.append((part._replace(valid=rest), around))
            elif isinstance(part, Load) and not part.accumulate:
                parts.append((rules.filled(part), around))
        return [x for part, around in parts for x in split_boundaries(part, around, rules)]
    return [(copy, loops)]


def _loop_to_cut(
    copy: Load | Store,
    form: Linear,
    loops: tuple[LoopExtent, ...],
    column: LoopExtent,
    block: LoopExtent | None,
) -> LoopExtent | None:
    """The loop whose iterations decide a condition, if there is one: not those that become the
    condition's count of columns or rows, and no loop around the copy."""
    if form.without(*(loop.loop_id for loop in loops)).items:
        return None
    counts_columns = form.depends_on(column.loop_id)
    cuttable = [
        loop
        for loop in loops
        if form.depends_on(loop.loop_id)
        and loop not in (column, block)
        and (counts_columns or copy.row.coefficient(loop.loop_id) != 1)
    ]
    return cuttable[0] if len(cuttable) == 1 else None


class _Piece(NamedTuple):
    """Iterations of a loop in which a condition holds, holds never, or (None) depends."""

    start: int
    end: int
    holds: bool | None


def _pieces(form: Linear, loop: LoopExtent, loops: tuple[LoopExtent, ...]) -> list[_Piece]:
    """The iterations of one loop by what they decide; those that decide nothing one by one."""
    slope = form.coefficient(loop.loop_id)
    others = [form.coefficient(x.loop_id) * (x.extent - 1) for x in loops if x is not loop]
    least, most = (sum(bound(0, reach) for reach in others) for bound in (min, max))
    pieces: list[_Piece] = []
    for i in range(loop.extent):
        value = form.const + slope * i
        holds = True if value + least >= 0 else False if value + most < 0 else None
        if pieces and pieces[-1].holds is holds:
            pieces[-1] = pieces[-1]._replace(end=i + 1)
        else:
            pieces.append(_Piece(i, i + 1, holds))
    return [
        part
        for piece in pieces
        for part in (
            [_Piece(i, i + 1, None) for i in range(piece.start, piece.end)]
            if piece.holds is None and piece.end - piece.start <= _MAX_PARTIAL_ITERATIONS
            else [piece]
        )
    ]


def _restrict(
    copy: Load | Store, loops: tuple[LoopExtent, ...], loop: LoopExtent, start: int, end: int
) -> tuple[Load | Store, tuple[LoopExtent, ...]]:
    """The iterations ``start`` to ``end`` of one loop; a single one needs no loop."""
    variable = Linear.loop(loop.loop_id) if end - start > 1 else Linear()
    shift = {loop.loop_id: variable + start}
    part = copy._replace(
        row=copy.row.substitute(shift),
        offset=copy.offset.substitute(shift),
        valid=tuple(form.substitute(shift) for form in copy.valid),
    )
    if isinstance(part, Store):
        part = part._replace(block=part.block.substitute(shift))
    resized = tuple(x._replace(extent=end - start) if x is loop else x for x in loops)
    return part, tuple(x for x in resized if x.loop_id != loop.loop_id or x.extent > 1)
