"""Placement: copies attached to the loops of the device's steps.

A queue of the device holds a few loads only; one more in a row blocks the host until the first is
done, and the steps run dry behind it.  Between the steps the same loads find the
queue empty and overlap with all of the steps.  So the iterations of copies are interleaved with the
iterations of the steps' loops, from the outside in, until so few are left together that a queue
holds them.  Every loop is cut into a few ranges of a fixed pattern: that is what the host runs.

Copies of another tile may go anywhere (``free``).  Those that the steps need (``due``) go before
the first step that touches their rows, those that need the steps (``after``) behind the last one:
a loop's first or last iteration is then split off, and the others carry what the next one needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ..device.intrinsic import Access
from ..passes.linear import Linear
from .blocks import Blocks
from .dependences import Touched
from .interleaving import Interleaver
from .operations import CopyOperation, Engine, LoopIds
from .parts import Bound, Copy, Part, unevenness
from .placed import Placed, PlacedLoop, PlacedStep
from .report import BEFORE, BEHIND, FIRST_BLOCK, LAST_BLOCK, ROWS_UNKNOWN, NoReport
from .row_pattern import RowPattern
from .steps import BlockRows, Run, Step, Steps

# Of the loops around the steps, so many outer ones may be cut in two, where that brings so much.
_SPLIT_LEVELS = 2
_SPLIT_GAIN = 0.8
# Of steps that come to the halves of an operand by turns, the loop over these.
_HALVES_LEVEL = 1


class Placer:
    """Places the copies of one nest of steps, whose operands are the tiles ``touched``."""

    def __init__(
        self,
        steps: Steps,
        touched: Sequence[Touched],
        queue_entries: Mapping[Engine, int],
        ids: LoopIds,
        report: NoReport,
        store_latency_cycles: float = 0.0,
    ) -> None:
        self.report = report
        self.steps = steps
        self.touched = touched
        self.ids = ids
        self.interleaver = Interleaver(queue_entries, ids, store_latency_cycles)
        self._is_in_halves = False

    def place(
        self,
        due: Sequence[Copy],
        free: Sequence[Copy],
        after: Sequence[Copy],
        *,
        in_halves: bool = False,
    ) -> tuple[Placed, ...]:
        """The steps with their copies; ``in_halves``: those of one half of what they reduce by
        turns with those of the other, so that what is loaded of one half is used a turn later."""
        if not any(copy.leaves_rest for copy in after):  # `rest` is told from the loops as they are
            self.steps = self._refined([*due, *free] if in_halves else free)
            halves = self.steps.in_halves(self.ids) if in_halves else None
            if halves is not None:
                self.steps, self._is_in_halves = halves, True
        steps = self.steps
        self.report.steps(steps)
        placed: list[Placed] = []
        bound_due = []
        for copy in due:
            bound = self.bound(copy, first=True)
            if bound is None:
                self.report.copy(copy.operation, BEFORE, ROWS_UNKNOWN)
                placed.append(copy.placed)
            else:
                bound_due.append(bound)
        behind: list[Placed] = []
        bound_after = []
        for copy in after:
            bound = self.bound(copy, first=False)
            if bound is None and copy.leaves_rest:
                continue
            if bound is None:
                self.report.copy(copy.operation, BEHIND, ROWS_UNKNOWN)
                behind.append(copy.placed)
            else:
                bound_after.append(bound)
        placed += self._level(
            0, steps.step, True, steps.overwrites, bound_due, list(free), bound_after
        )
        return (*placed, *behind)

    def inputs_last(self, free: list[Copy]) -> list[Copy]:
        """Copies of another tile, those last that write where the steps before these still read row
        by row: each row that arrives in the bank of such a one keeps it waiting."""
        if any(copy.first or copy.last for copy in free):
            return free
        both = zip(self.steps.step.operands, self.touched, strict=True)
        inputs = [
            tile.tile for operand, tile in both if operand.follows and operand.access is Access.READ
        ]
        return sorted(
            free,
            key=lambda copy: (
                copy.operation.is_load and any(mine.tile in inputs for mine in copy.touched)
            ),
        )

    def rest(self, copy: Copy) -> CopyOperation | None:
        """Of a copy that follows steps, what has to follow their last block of rows."""
        bound = self.bound(copy, first=False)
        if bound is None:
            return copy.operation
        last = [bound]
        for depth, loop in enumerate(self.steps.loops):
            found: list[Bound] = []
            for one in last:
                self.interleaver.behind(one, loop.extent, self.steps.positions(depth), found)
            last = found
            if self._is_rest(copy, depth):
                break
        return last[0].copy.operation if last else None

    def _is_rest(self, copy: Copy, depth: int) -> bool:
        """Whether all that follows the last iteration of the loop at a depth is the rest of a copy:
        of a store whatever follows the last sums, since the next steps come to these last."""
        return not copy.operation.is_load and not self.steps.reduces(depth)

    def _refined(self, free: Sequence[Copy]) -> Steps:
        """The steps with an outer loop in two, where copies are interleaved more evenly then."""
        if not free:
            return self.steps
        extents = tuple([loop.extent for loop in self.steps.loops])
        best: tuple[int, int] | None = None
        least = _SPLIT_GAIN * self._unevenness(free, extents)
        for level in range(min(_SPLIT_LEVELS, len(extents))):
            for inner in range(2, extents[level] // 2 + 1):
                if extents[level] % inner:
                    continue
                split = (*extents[:level], extents[level] // inner, inner, *extents[level + 1 :])
                uneven = self._unevenness(free, split)
                if uneven < least:
                    best, least = (level, inner), uneven
        return self.steps if best is None else self.steps.split(*best, self.ids)

    def _unevenness(self, copies: Sequence[Copy], extents: tuple[int, ...]) -> float:
        """How long copies would take at the pace at which they come closest, in loops of these
        extents."""
        total = 0.0
        for copy in copies:
            axes = tuple([loop.extent for loop in copy.operation.loops])
            most = self.interleaver.room[copy.operation.kind.engine]
            total += copy.cycles * unevenness(axes, most, extents)
        return total

    # ---- dependences --------------------------------------------------------------------

    def bound(self, copy: Copy, *, first: bool) -> Bound | None:
        """The block that touches rows of each iteration's first, or last; None where that is not
        known."""
        operation = copy.operation
        pattern = operation.row_pattern()
        operands = self.steps.touched()
        if pattern is None or operands is None:
            return None
        touched = []
        own = [loop.loop_id for loop in operation.loops]
        around = operation.row.without(*own)
        for operand, tile in enumerate(self.touched):
            form, of_blocks = operands[operand]
            if not any(tile.tile.overlaps(mine.tile) for mine in copy.touched):
                continue
            if form.items != around.items:
                return None
            touched.append((of_blocks, around.const - form.const))
        return Bound(copy, _blocks(pattern, tuple(touched), self.steps.n_blocks, first))

    # ---- loops --------------------------------------------------------------------------

    def _level(
        self,
        depth: int,
        step: Step,
        new_stationary: bool,
        overwrites: bool,
        due: list[Bound],
        free: list[Copy],
        after: list[Bound],
    ) -> tuple[Placed, ...]:
        """The loops from a depth on.  Blocks are counted from the first of these loops' own."""
        steps = self.steps
        if not (due or free or after):
            return self._alone(depth, step, new_stationary, overwrites)
        if depth == len(steps.loops):
            return self._block(step, new_stationary, overwrites, due, free, after)
        loop, inner = steps.loops[depth], steps.positions(depth)
        stays, reduces = depth >= steps.n_changing, steps.reduces(depth)
        first_differs = (new_stationary and stays) or (overwrites and reduces)
        parts: list[Part] = []
        due_first: list[Bound] = []
        after_last: list[Bound] = []
        ahead = self.interleaver.ahead
        if self._is_in_halves and depth == 0:
            ahead = self.interleaver.ahead_by_halves
        for bound in due:
            parts += ahead(bound, loop.extent, inner, due_first)
        for bound in after:
            parts += self.interleaver.behind(bound, loop.extent, inner, after_last)
        after_last = [
            x for x in after_last if not (x.copy.leaves_rest and self._is_rest(x.copy, depth))
        ]
        # What follows the last block of all needs no last iteration of its own.
        after_all: list[Bound] = []
        inside_last: list[Bound] = []
        for bound in after_last:
            (after_all if self._follows_all(depth + 1, bound) else inside_last).append(bound)
        if self._is_in_halves and depth == _HALVES_LEVEL:
            for copy in free:
                if copy.half is not None:  # while steps read the other one
                    parts += self.interleaver.spread([copy], 1 - copy.half, 2 - copy.half)
            free = [copy for copy in free if copy.half is None]
        begin = int(bool(due_first))
        step_cycles = None if depth else steps.cycles / loop.extent
        parts += self.interleaver.spread(free, begin, loop.extent, step_cycles=step_cycles)
        at_once, inside = self.interleaver.at_once(parts, loop.extent)
        for part in at_once:
            early = part.commands if due and part.copy.is_own and not part.begin else 0
            self.report.between(
                part.copy.operation, part.copy.is_own, part.total, early, loop.extent
            )
        # What is interleaved inside has a fixed pattern, what is not is issued under a condition.
        cuts = {0, loop.extent}
        for part in inside:
            cuts.add(part.begin)
            cuts.add(part.end)
        if due_first or first_differs:
            cuts.add(1)
        if inside_last:
            cuts.add(loop.extent - 1)

        def body(begin: int, end: int, index: Linear) -> tuple[Placed, ...]:
            is_first = begin == 0
            return (
                *[copy.placed for copy in self.interleaver.parts_in(at_once, index)],
                *self._level(
                    depth + 1,
                    step.replaced(loop.loop_id, index),
                    new_stationary and (is_first or not stays),
                    overwrites and (is_first or not reduces),
                    due_first if is_first else [],
                    self.interleaver.parts_in(inside, index),
                    inside_last if end == loop.extent else [],
                ),
            )

        return (*self._ranges(sorted(cuts), body), *self._behind(after_all))

    def _alone(
        self, depth: int, step: Step, new_stationary: bool, overwrites: bool
    ) -> tuple[Placed, ...]:
        """As `_level`, where there is no copy."""
        steps = self.steps
        if depth == len(steps.loops):
            return self._block(step, new_stationary, overwrites, [], [], [])
        loop = steps.loops[depth]
        stays = new_stationary and depth >= steps.n_changing
        starts = overwrites and steps.reduces(depth)

        def body(begin: int, _: int, index: Linear) -> tuple[Placed, ...]:
            return self._alone(
                depth + 1,
                step.replaced(loop.loop_id, index),
                new_stationary and (begin == 0 or not stays),
                overwrites and (begin == 0 or not starts),
            )

        cuts = {0, 1, loop.extent} if stays or starts else {0, loop.extent}
        return self._ranges(sorted(cuts), body)

    def _ranges(
        self, cuts: Sequence[int], body: Callable[[int, int, Linear], tuple[Placed, ...]]
    ) -> tuple[Placed, ...]:
        """A loop cut into ranges, each of its own pattern."""
        placed: list[Placed] = []
        for begin, end in pairwise(cuts):
            self.report.enter(end - begin)
            if end - begin == 1:
                placed += body(begin, end, Linear(begin))
            else:
                loop = self.ids.loop(end - begin)
                inside = body(begin, end, Linear.loop(loop.loop_id) + begin)
                placed.append(PlacedLoop(loop, inside))
            self.report.leave()
        return tuple(placed)

    def _block(
        self,
        step: Step,
        new_stationary: bool,
        overwrites: bool,
        due: list[Bound],
        free: list[Copy],
        after: list[Bound],
    ) -> tuple[Placed, ...]:
        """The steps of a block of rows."""
        placed: list[Placed] = [bound.copy.placed for bound in due]
        for bound in due:
            self.report.copy(bound.copy.operation, BEFORE, FIRST_BLOCK)
        behind = self._behind(after)
        runs = self.steps.runs
        longest = runs[0] if len(runs) == 1 else max(runs, key=lambda run: run.times)
        for run in runs:
            carried = free if run is longest else []
            placed += self._run(run, step, new_stationary, overwrites, carried)
            new_stationary = False
        return (*placed, *behind)

    def _follows_all(self, depth: int, bound: Bound) -> bool:
        """Whether all of a copy follows the last block of the loops from a depth on."""
        for level, loop in enumerate(self.steps.loops[depth:], depth):
            last: list[Bound] = []
            if self.interleaver.behind(bound, loop.extent, self.steps.positions(level), last):
                return False
            (bound,) = last
        return True

    def _behind(self, after: Sequence[Bound]) -> list[Placed]:
        """Copies that follow all blocks of loops."""
        copies = [bound.copy for bound in after if not bound.copy.leaves_rest]
        for copy in copies:
            self.report.copy(copy.operation, BEHIND, LAST_BLOCK)
        return [copy.placed for copy in copies]

    def _run(
        self, run: Run, step: Step, new_stationary: bool, overwrites: bool, free: list[Copy]
    ) -> tuple[Placed, ...]:
        if run.times == 1:  # all in their order
            self.report.at_once(
                [(copy.operation, copy.is_own) for copy in free], self.interleaver.room
            )
            row = Linear(run.first_row)
            last = PlacedStep(step, row, run.rows, new_stationary, overwrites, self.touched)
            return (*(copy.placed for copy in free), last)
        parts = self.interleaver.spread(free, 0, run.times)
        for part in parts:
            self.report.enter(part.end - part.begin)
            first = part.at(Linear(part.begin))
            self.report.at_once([(first, part.copy.is_own)], self.interleaver.room)
            self.report.leave()
        cuts = {0, run.times}.union(*({part.begin, part.end} for part in parts))
        if new_stationary:
            cuts.add(1)

        def body(begin: int, end: int, index: Linear) -> tuple[Placed, ...]:
            row = index * run.rows + run.first_row
            is_new = new_stationary and begin == 0
            last = PlacedStep(step, row, run.rows, is_new, overwrites, self.touched)
            return (*(copy.placed for copy in self.interleaver.parts_in(parts, index)), last)

        return self._ranges(sorted(cuts), body)


@lru_cache(maxsize=256)
def _blocks(
    pattern: RowPattern, touched: tuple[tuple[BlockRows, int], ...], n_blocks: int, first: bool
) -> Blocks:
    """The first blocks that touch rows of a copy, or the last ones; with the rows of each operand
    how far the copy's are from there."""
    never = n_blocks if first else -1
    blocks = np.full(pattern.rows.shape[:-1], never, dtype=np.int64)
    nearest = np.minimum if first else np.maximum
    for of_blocks, distance in touched:
        found = of_blocks.blocks(pattern.rows + distance, first=first)
        blocks = nearest(blocks, nearest.reduce(found, axis=-1))
    # What no step touches keeps its place before, or behind, all of them.
    return Blocks(np.where(blocks == never, 0 if first else n_blocks - 1, blocks))
