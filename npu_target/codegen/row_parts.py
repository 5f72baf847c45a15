"""The rows of a copy: those that have a place in DRAM, and those of a tile that are filled, with
zeros mostly."""

from __future__ import annotations

from typing import NamedTuple

from ..passes.copies import Load, Store
from ..passes.linear import Linear, combine
from ..passes.transfers import Transfer
from .operations import Guard


class RowPart(NamedTuple):
    """Rows ``first`` to ``end`` of a transfer, where all of ``guards`` hold; ``is_filled`` for rows
    of a tile for which there is nothing to read."""

    first: Linear
    end: Linear
    guards: tuple[Guard, ...]
    is_filled: bool = False


def row_parts(copy: Load | Store, transfer: Transfer) -> list[RowPart]:
    """What a copy does with its rows, in an order in which it may be done.

    A store has one part. A load has the rows that are read, and the filled ones before and behind
    them; where there may be none to read, all rows filled as well. No part is known to be empty.
    """
    first, end = transfer.first_row, transfer.end_row
    if isinstance(copy, Store):
        return [RowPart(first, end, tuple([Guard((form,)) for form in transfer.guards]))]
    none, rows = Linear(), Linear(transfer.rows)
    if copy.source is None:
        return [RowPart(none, rows, (), True)]
    guards = (Guard(transfer.guards),) if transfer.guards else ()
    parts = [
        RowPart(none, combine("min", first, rows), guards, True),
        RowPart(first, end, guards),
        RowPart(combine("max", first, end), rows, guards, True),
    ]
    if guards:
        parts.append(RowPart(none, rows, (Guard(transfer.guards, negated=True),), True))
    return [part for part in parts if not _is_empty(part)]


def _is_empty(part: RowPart) -> bool:
    length = part.end - part.first
    return length.is_const and length.const <= 0
