"""Copies that are attached to steps, and their parts for the iterations of a loop of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..passes.linear import Linear
from ..topi.blocking import ceil_div
from .blocks import Blocks
from .dependences import Touched
from .operations import CopyOperation
from .placed import PlacedCopy


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
        return PlacedCopy(self.operation, self.touched)

    def with_operation(self, operation: CopyOperation) -> Copy:
        """The same with another part of the operation."""
        return tuple.__new__(Copy, (operation, *self[1:]))  # its own takes twice as long


class Bound(NamedTuple):
    """A copy with the blocks of rows that its iterations have to precede or to follow."""

    copy: Copy
    blocks: Blocks


class Part(NamedTuple):
    """A part of a copy for each of the iterations ``begin`` to ``end`` of a loop."""

    begin: int
    end: int
    commands: int  # an iteration
    at: Callable[[Linear], CopyOperation]  # by the loop's variable
    copy: Copy

    @property
    def total(self) -> int:
        """How many commands it is."""
        return (self.end - self.begin) * self.commands


def best_axis(extents: Sequence[int], iterations: int) -> int:
    """The loop of a copy that is interleaved with so many iterations most evenly."""
    return min(
        range(len(extents)),
        key=lambda i: (ceil_div(extents[i], iterations) * iterations / extents[i], -extents[i]),
    )


def dealt(copy: Copy, axis: int, start: int, count: int, begin: int, each: int) -> list[Part]:
    """``count`` iterations of a copy's loop from ``start`` on, ``each`` an iteration of another
    loop from ``begin`` on, the last one with what is left."""
    operation = copy.operation
    others = operation.number // operation.loops[axis].extent

    def part(start: int, begin: int, times: int, each: int) -> Part:
        def at(index: Linear) -> CopyOperation:
            return operation.sliced(axis, (index - begin) * each + start, each)

        return Part(begin, begin + times, each * others, at, copy)

    whole, rest = divmod(count, each)
    parts = [part(start, begin, whole, each)] if whole else []
    if rest:
        parts.append(part(start + whole * each, begin + whole, 1, rest))
    return parts
