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
    last = ceil_div(most, limit) - 1
    found = []
    if last:
        loops = (ids.loop(last),) if last > 1 else ()
        start = first + (Linear.loop(loops[0].loop_id) * limit if loops else 0)
        left = end - start
        guards = (Guard((left - 1,)),) if loops or least < 1 else ()
        found.append(Piece(start, combine("min", Linear(limit), left), limit, loops, guards))
    # By itself: it has no more than what is left, so copies of other rows may come in between.
    left = length - last * limit
    guards = (Guard((left - 1,)),) if last or least < 1 else ()
    return [*found, Piece(first + last * limit, left, most - last * limit, (), guards)]
