"""Copies that are attached to steps, and their parts for the iterations of a loop of steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ..passes.linear import Linear
from ..topi.blocking import ceil_div
from .blocks import Blocks
from .dependences import Touched
from .operations import CopyOperation
from .placed import PlacedCopy

_new = tuple.__new__  # of what there are many: their own takes twice as long


class Copy(NamedTuple):
    """An operation to be attached, and the tiles that it touches.

    first : whether another one, with ``last``, has to follow it.
    leaves_rest : whether what has to follow the last block of rows is left out: it precedes the
        next nest of steps.
    is_own : whether these steps need it, or it them.
    is_divisible : whether its iterations may be told apart.
    half : of steps that come to the halves of an operand by turns, which half it is for.
    """

    operation: CopyOperation
    touched: Sequence[Touched]
    first: bool = False
    last: bool = False
    leaves_rest: bool = False
    is_own: bool = True
    is_divisible: bool = True
    half: int | None = None

    @property
    def cycles(self) -> float:
        """How long it keeps its engine."""
        return self.operation.number * self.operation.cycles

    @property
    def placed(self) -> PlacedCopy:
        """The operation where it is issued."""
        return _new(PlacedCopy, (self.operation, self.touched))

    def with_operation(self, operation: CopyOperation) -> Copy:
        """The same with another part of the operation."""
        return _new(Copy, (operation, *self[1:]))


class Bound(NamedTuple):
    """A copy with the blocks of rows that its iterations have to precede or to follow."""

    copy: Copy
    blocks: Blocks


class Part(NamedTuple):
    """A part of a copy for each of the iterations ``begin`` to ``end`` of a loop: ``each``
    iterations of the ``axis``-th of its own loops, from ``start`` on; all of it where ``axis`` is
    None."""

    begin: int
    end: int
    commands: int  # an iteration
    copy: Copy
    axis: int | None = None
    start: int = 0
    each: int = 1

    def at(self, index: Linear) -> CopyOperation:
        """The part by the loop's variable."""
        _, _, _, copy, axis, start, each = self
        if axis is None:
            return copy.operation
        const, items = index
        first = start - self.begin * each
        place = index * each + first if items else Linear(const * each + first)
        return copy.operation.sliced(axis, place, each)

    @property
    def total(self) -> int:
        """How many commands it is."""
        return (self.end - self.begin) * self.commands


@lru_cache(maxsize=1024)
def best_axis(extents: tuple[int, ...], iterations: int) -> int:
    """The loop of a copy that is interleaved with so many iterations most evenly."""
    return min(
        range(len(extents)),
        key=lambda i: (ceil_div(extents[i], iterations) * iterations / extents[i], -extents[i]),
    )


@lru_cache(maxsize=1024)
def unevenness(axes: tuple[int, ...], most: int, extents: tuple[int, ...]) -> float:
    """By how much more often a copy in loops of ``axes`` comes where it comes closest than on
    average, in loops of these extents, from the outside in until ``most`` are left together."""
    left = list(axes)
    uneven = 1.0
    for extent in extents:
        if prod(left) <= most:
            break
        axis = best_axis(tuple(left), extent)
        each = ceil_div(left[axis], extent)
        uneven *= extent * each / left[axis]
        left[axis] = each
    return uneven


def dealt(copy: Copy, axis: int, start: int, count: int, begin: int, each: int) -> list[Part]:
    """``count`` iterations of a copy's loop from ``start`` on, ``each`` an iteration of another
    loop from ``begin`` on, the last one with what is left."""
    loops = copy.operation.loops
    others = 1 if len(loops) == 1 else copy.operation.number // loops[axis].extent
    whole, rest = divmod(count, each)
    parts = []
    if whole:
        parts.append(_new(Part, (begin, begin + whole, each * others, copy, axis, start, each)))
    if rest:
        begin, start = begin + whole, start + whole * each
        parts.append(_new(Part, (begin, begin + 1, rest * others, copy, axis, start, rest)))
    return parts
