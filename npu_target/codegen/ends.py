"""The first steps and the last, in orders of their own.

In *outer-product* order the reduction is outside of all other loops: a part of each operand is used
with all that is there of the other, while the next part comes.  Steps that nothing comes before
begin sooner so.  In *inner-product* order it is innermost: each sum is complete before the next is
begun, and only the last ones are stored when the steps are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

import numpy as np

from ..passes.linear import Linear
from .blocks import varying
from .dependences import Touched
from .operations import CopyOperation
from .parts import Copy
from .placement import Placer
from .steps import Steps


def begin_soon(placer: Placer, due: Sequence[Copy]) -> list[Copy]:
    """Put steps in outer-product order. Returns what is loaded for them, such that it can come in
    the order in which they need it."""
    steps = placer.steps.outer_product()
    if steps is None:
        return list(due)
    placer.steps = steps
    due = [_apart(placer, copy) for copy in due]
    found = [bound for copy in due if (bound := placer.bound(copy, first=True))]
    turns = [bound.blocks.values // steps.positions(0) for bound in found]
    turn = gcd(*[int(at) for needed in turns for at in np.unique(needed)])
    extent = steps.loops[0].extent
    # What comes for a turn comes all through the one before.
    if 1 < turn < extent and extent % turn == 0:
        placer.steps = steps.split(0, turn, placer.ids)
    return due


def _apart(placer: Placer, copy: Copy) -> Copy:
    """A copy with its loop in two, where it comes back to steps that another part was for."""
    bound = placer.bound(copy, first=True)
    if bound is None or bound.blocks.values.ndim != 1 or not copy.is_divisible:
        return copy
    turns = np.flatnonzero(np.diff(bound.blocks.values) < 0) + 1
    if not len(turns) or turns[0] == 1 or len(bound.blocks.values) % turns[0]:
        return copy
    return copy.with_operation(copy.operation.split(0, int(turns[0]), placer.ids))


def end_soon(placer: Placer, uncut: Steps, after: Sequence[Copy]) -> None:
    """Put steps, which are ``uncut`` as the definition has them, in inner-product order, if what
    follows them is stored sooner then."""
    mine, other = placer.steps, uncut.inner_product()
    if other is None:
        return
    before = _end(placer, after)
    placer.steps = other
    if _end(placer, after) >= before:
        placer.steps = mine


def _end(placer: Placer, after: Sequence[Copy]) -> float:
    """When the last of what follows the steps is stored, counted from where they begin."""
    n_blocks = placer.steps.n_blocks
    store_cycles = np.zeros(n_blocks)  # by the block that completes what is stored
    for copy in after:
        bound = placer.bound(copy, first=False)
        if bound is None:
            return np.inf
        np.add.at(store_cycles, bound.blocks.values, copy.operation.cycles)
    left = np.cumsum(store_cycles[::-1])[::-1]
    complete = (1 + np.arange(n_blocks)) * (placer.steps.cycles / n_blocks)
    return float(np.max(complete + left))


def late_parts(
    placer: Placer, copies: Iterable[Copy], most_cycles: float
) -> tuple[list[CopyOperation], list[CopyOperation]]:
    """Of what is loaded for steps, what they need first, and what may come beside them: no more
    than takes so many cycles."""
    early: list[CopyOperation] = []
    late: list[CopyOperation] = []
    left = most_cycles
    for copy in reversed(list(copies)):
        operation = copy.operation
        axis, count = _late(placer, copy, left)
        if axis is None or not count:
            early.insert(0, operation)
            continue
        kept = operation.loops[axis].extent - count
        if kept:
            early.insert(0, operation.sliced(axis, Linear(), kept))
        late.insert(0, operation.sliced(axis, Linear(kept), count))
        left -= copy.cycles * count / (kept + count)
    return early, late


def _late(placer: Placer, copy: Copy, most_cycles: float) -> tuple[int | None, int]:
    """The loop of a copy of which the last iterations may come beside the steps, and how many.
    None of what the steps read row by row: what arrives in its bank keeps them waiting."""
    operands = zip(placer.steps.step.operands, placer.touched, strict=True)
    if any(operand.follows and _overlaps(tile, copy.touched) for operand, tile in operands):
        return None, 0
    bound = placer.bound(copy, first=True)
    if bound is None or not copy.is_divisible:
        return None, 0
    axis, blocks = varying(bound.blocks.values, least=True)
    if axis is None or np.any(np.diff(blocks) < 0):
        return None, 0
    each = copy.cycles / len(blocks)
    needed = blocks * (placer.steps.cycles / placer.steps.n_blocks)
    count = min(int(most_cycles // each), int(np.count_nonzero(blocks)))
    # As many as come in time, the first of them when the steps begin.
    while count and np.any(needed[-count:] < each * (1 + np.arange(count))):
        count -= 1
    return axis, count


def _overlaps(tile: Touched, others: Sequence[Touched]) -> bool:
    return any(tile.tile.overlaps(other.tile) for other in others)
