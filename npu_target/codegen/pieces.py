"""Rows or columns of copies, in pieces that one command takes."""

from __future__ import annotations

from typing import NamedTuple

from ..passes.linear import Linear, combine
from ..passes.transfers import LoopExtent
from ..topi.blocking import ceil_div
from .operations import Guard, LoopIds


class Piece(NamedTuple):
    """Rows or columns of a command: the first, how many and at most how many, in loops of their
    own, and whether there are any."""

    start: Linear
    length: Linear
    most: int
    loops: tuple[LoopExtent, ...] = ()
    guards: tuple[Guard, ...] = ()


def pieces(
    first: Linear, end: Linear, limit: int, bounds: tuple[int, int], ids: LoopIds
) -> list[Piece]:
    """``first`` to ``end``, a number within ``bounds``, in pieces of at most ``limit``."""
    length = end - first
    if length.is_const:
        whole, rest = divmod(max(length.const, 0), limit)
        found = []
        if whole == 1:
            found.append(Piece(first, Linear(limit), limit))
        elif whole > 1:
            loop = ids.loop(whole)
            start = first + Linear.loop(loop.loop_id) * limit
            found.append(Piece(start, Linear(limit), limit, (loop,)))
        if rest:
            found.append(Piece(first + whole * limit, Linear(rest), rest))
        return found
    least, most = bounds
    number = ceil_div(most, limit)
    loops = (ids.loop(number),) if number > 1 else ()
    start = first + (Linear.loop(loops[0].loop_id) * limit if loops else 0)
    left = end - start
    count = combine("min", Linear(limit), left) if loops else left
    guards = (Guard((left - 1,)),) if loops or least < 1 else ()
    return [Piece(start, count, min(limit, most), loops, guards)]
