"""Placement: copies attached to the loops of the array's steps.

A queue of the device holds a few loads only; the ninth load in a row blocks the host until the
first is done, and the array runs dry behind it.  Between the array's steps the same loads find the
queue empty and overlap with all of the steps.  So the iterations of copies are dealt out to the
iterations of the steps' loops, from the outside in, until so few are left together that a queue
holds them.  Every loop is cut into a few ranges of a fixed pattern: that is what the host runs.

Copies of another tile may go anywhere (``free``).  Those that the steps need (``due``) go before
the first step that touches their rows, those that need the steps (``after``) behind the last one:
a loop's first or last iteration is then split off, and the others carry what the next one needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..config import NpuConfig
from ..passes.linear import Linear
from ..program import Node
from .cost import ceil_div
from .dependences import Touched
from .operations import CopyOperation, LoopIds, nested
from .report import BEFORE, BEHIND, FIRST_BLOCK, LAST_BLOCK, ROWS_UNKNOWN, NoReport
from .steps import ArrayStep, Run, Steps, pair

# Entries of a queue that are left for what the device has not begun yet.
_QUEUE_SLACK = 2
# Of the loops around the steps, so many outer ones may be cut in two, where that brings so much.
_SPLIT_LEVELS = 2
_SPLIT_GAIN = 0.8


class Copy(NamedTuple):
    """An operation to be attached, and the tiles that it touches.

    first : whether another one, with ``last``, has to follow it.
    leaves_rest : whether what has to follow the last block of rows is left out: it precedes the
        next nest of steps.
    is_own : whether these steps need it, or it them.
    is_divisible : whether its iterations may be told apart.
    """

    operation: CopyOperation
    touched: Sequence[Touched]
    first: bool = False
    last: bool = False
    leaves_rest: bool = False
    is_own: bool = True
    is_divisible: bool = True

    def with_operation(self, operation: CopyOperation) -> Copy:
        """The same with another part of the operation."""
        return self._replace(operation=operation)


class _Bound(NamedTuple):
    """A copy with, for each of its iterations, the block of rows (counted in the order of the
    steps) that it has to precede or to follow."""

    copy: Copy
    blocks: np.ndarray


class _Part(NamedTuple):
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


class Placer:
    """Places the copies of one nest of steps, whose operands are the tiles ``touched``."""

    def __init__(
        self,
        steps: Steps,
        touched: Sequence[Touched],
        config: NpuConfig,
        ids: LoopIds,
        report: NoReport,
    ) -> None:
        self.report = report
        self.steps = steps
        self.touched = touched
        self.config = config
        self.ids = ids
        self.most_loads = max(1, config.ld_queue_entries - _QUEUE_SLACK)
        self.most_stores = max(1, config.st_queue_entries - _QUEUE_SLACK)
        self.n_blocks = int(np.prod([loop.extent for loop in steps.loops], dtype=np.int64))

    def place(
        self, due: Sequence[Copy], free: Sequence[Copy], after: Sequence[Copy]
    ) -> tuple[Node, ...]:
        """The steps with their copies."""
        if not any(copy.leaves_rest for copy in after):  # `rest` is told from the loops as they are
            self.steps = self._refined(free)
        steps = self.steps
        self.report.steps(steps)
        nodes: list[Node] = []
        bound_due = []
        for copy in due:
            bound = self._bound(copy, first=True)
            if bound is None:
                self.report.copy(copy.operation, BEFORE, ROWS_UNKNOWN)
                nodes += copy.operation.nodes()
            else:
                bound_due.append(bound)
        behind: list[Node] = []
        bound_after = []
        for copy in after:
            bound = self._bound(copy, first=False)
            if bound is None and copy.leaves_rest:
                continue
            if bound is None:
                self.report.copy(copy.operation, BEHIND, ROWS_UNKNOWN)
                behind += copy.operation.nodes()
            else:
                bound_after.append(bound)
        nodes += self._level(
            0, steps.step, True, steps.overwrites, bound_due, list(free), bound_after
        )
        return (*nodes, *behind)

    def rest(self, copy: Copy) -> CopyOperation | None:
        """Of a copy that follows steps, what has to follow their last block of rows."""
        bound = self._bound(copy, first=False)
        if bound is None:
            return copy.operation
        last = [bound]
        for depth, loop in enumerate(self.steps.loops):
            found: list[_Bound] = []
            for one in last:
                self._behind(one, loop.extent, self.steps.positions(depth), found)
            last = found
        return last[0].copy.operation if last else None

    def _refined(self, free: Sequence[Copy]) -> Steps:
        """The steps with an outer loop in two, where copies are dealt out more evenly then."""
        if not free:
            return self.steps
        extents = [loop.extent for loop in self.steps.loops]
        best: tuple[int, int] | None = None
        least = _SPLIT_GAIN * self._unevenness(free, extents)
        for level in range(min(_SPLIT_LEVELS, len(extents))):
            for inner in range(2, extents[level] // 2 + 1):
                if extents[level] % inner:
                    continue
                split = [*extents[:level], extents[level] // inner, inner, *extents[level + 1 :]]
                uneven = self._unevenness(free, split)
                if uneven < least:
                    best, least = (level, inner), uneven
        return self.steps if best is None else self.steps.split(*best, self.ids)

    def _unevenness(self, copies: Sequence[Copy], extents: Sequence[int]) -> float:
        """How long copies would take at the pace at which they come closest, in loops of these
        extents."""
        total = 0.0
        for copy in copies:
            axes = [loop.extent for loop in copy.operation.loops]
            most = self.most_loads if copy.operation.is_load else self.most_stores
            uneven = 1.0
            for extent in extents:
                if int(np.prod(axes)) <= most:
                    break
                axis = _best_axis(axes, extent)
                each = ceil_div(axes[axis], extent)
                uneven *= extent * each / axes[axis]
                axes[axis] = each
            total += _cycles(copy) * uneven
        return total

    # ---- dependences --------------------------------------------------------------------

    def _bound(self, copy: Copy, *, first: bool) -> _Bound | None:
        """The block that touches rows of each iteration's first, or last; None where that is not
        known."""
        operation = copy.operation
        rows = operation.touched_rows()
        operands = self.steps.touched()
        if rows is None or operands is None:
            return None
        never = self.n_blocks if first else -1
        blocks = np.full(rows.shape[:-1], never, dtype=np.int64)
        own = [loop.loop_id for loop in operation.loops]
        around = operation.row.without(*own)
        for (form, touched), tile in zip(operands, self.touched, strict=True):
            if not any(tile.tile.overlaps(mine.tile) for mine in copy.touched):
                continue
            if form.items != around.items:
                return None
            table = self._table(touched + form.const, first=first)
            found = table[np.minimum(rows, len(table) - 1)]
            found = found.min(-1) if first else found.max(-1)
            blocks = np.minimum(blocks, found) if first else np.maximum(blocks, found)
        # What no step touches keeps its place before, or behind, all of them.
        return _Bound(copy, np.where(blocks == never, 0 if first else self.n_blocks - 1, blocks))

    def _table(self, touched: np.ndarray, *, first: bool) -> np.ndarray:
        """By rows, the first or the last block that touches them."""
        rows = touched.reshape(self.n_blocks, -1)
        order = np.arange(self.n_blocks)
        size = max(self.config.spad_rows, self.config.acc_rows)
        table = np.full(size + 1, self.n_blocks if first else -1, dtype=np.int64)
        if first:  # of several values for a row the last one stays
            rows, order = rows[::-1], order[::-1]
        table[rows.flatten()] = np.repeat(order, rows.shape[1])
        return table

    # ---- loops --------------------------------------------------------------------------

    def _level(
        self,
        depth: int,
        step: ArrayStep,
        new_weights: bool,
        overwrites: bool,
        due: list[_Bound],
        free: list[Copy],
        after: list[_Bound],
    ) -> tuple[Node, ...]:
        """The loops from a depth on.  Blocks are counted from the first of these loops' own."""
        steps = self.steps
        if depth == len(steps.loops):
            return self._block(step, new_weights, overwrites, due, free, after)
        loop, inner = steps.loops[depth], steps.positions(depth)
        stays, reduces = depth >= steps.n_changing, steps.reduces(depth)
        first_differs = (new_weights and stays) or (overwrites and reduces)
        parts: list[_Part] = []
        due_first: list[_Bound] = []
        after_last: list[_Bound] = []
        for bound in due:
            parts += self._ahead(bound, loop.extent, inner, due_first)
        for bound in after:
            parts += self._behind(bound, loop.extent, inner, after_last)
        parts += self._spread(free, int(bool(due_first)), loop.extent)
        at_once = self._at_once(parts, loop.extent)
        for part in at_once:
            early = part.commands if due and part.copy.is_own and not part.begin else 0
            self.report.between(
                part.copy.operation, part.copy.is_own, part.total, early, loop.extent
            )
        inside = [part for part in parts if part not in at_once]
        # What is dealt out inside has a fixed pattern, what is not is issued under a condition.
        cuts = {0, loop.extent}.union(*({part.begin, part.end} for part in inside))
        if due_first or first_differs:
            cuts.add(1)
        if after_last:
            cuts.add(loop.extent - 1)

        def body(begin: int, end: int, index: Linear) -> tuple[Node, ...]:
            is_first = begin == 0
            nodes = [
                node for copy in self._parts(at_once, index) for node in copy.operation.nodes()
            ]
            return (
                *nodes,
                *self._level(
                    depth + 1,
                    step.substitute({loop.loop_id: index}),
                    new_weights and (is_first or not stays),
                    overwrites and (is_first or not reduces),
                    due_first if is_first else [],
                    self._parts(inside, index),
                    after_last if end == loop.extent else [],
                ),
            )

        return self._ranges(sorted(cuts), body)

    def _ranges(
        self, cuts: Sequence[int], body: Callable[[int, int, Linear], tuple[Node, ...]]
    ) -> tuple[Node, ...]:
        """A loop cut into ranges, each of its own pattern."""
        nodes: list[Node] = []
        for begin, end in pairwise(cuts):
            self.report.enter(end - begin)
            if end - begin == 1:
                nodes += body(begin, end, Linear(begin))
            else:
                loop = self.ids.loop(end - begin)
                nodes += nested((loop,), body(begin, end, Linear.loop(loop.loop_id) + begin))
            self.report.leave()
        return tuple(nodes)

    def _block(
        self,
        step: ArrayStep,
        new_weights: bool,
        overwrites: bool,
        due: list[_Bound],
        free: list[Copy],
        after: list[_Bound],
    ) -> tuple[Node, ...]:
        """The steps of a block of rows."""
        nodes = [node for bound in due for node in bound.copy.operation.nodes()]
        for bound in due:
            self.report.copy(bound.copy.operation, BEFORE, FIRST_BLOCK)
        for bound in after:
            if not bound.copy.leaves_rest:
                self.report.copy(bound.copy.operation, BEHIND, LAST_BLOCK)
        longest = max(self.steps.runs, key=lambda run: run.times)
        for run in self.steps.runs:
            carried = free if run is longest else []
            nodes += self._run(run, step, new_weights, overwrites, carried)
            new_weights = False
        nodes += [
            node
            for bound in after
            if not bound.copy.leaves_rest
            for node in bound.copy.operation.nodes()
        ]
        return tuple(nodes)

    def _run(
        self, run: Run, step: ArrayStep, new_weights: bool, overwrites: bool, free: list[Copy]
    ) -> tuple[Node, ...]:
        dim = self.config.dim
        if run.times == 1:  # all in their order
            self.report.at_once(
                [(copy.operation, copy.is_own) for copy in free], self.most_loads, self.most_stores
            )
            nodes = tuple([node for copy in free for node in copy.operation.nodes()])
            row = Linear(run.first_row)
            steps = pair(step, row, run.rows, dim, new_weights=new_weights, overwrites=overwrites)
            return (*nodes, *steps)
        parts = self._spread(free, 0, run.times)
        for part in parts:
            self.report.enter(part.end - part.begin)
            first = part.at(Linear(part.begin))
            self.report.at_once([(first, part.copy.is_own)], self.most_loads, self.most_stores)
            self.report.leave()
        cuts = {0, run.times}.union(*({part.begin, part.end} for part in parts))
        if new_weights:
            cuts.add(1)

        def body(begin: int, end: int, index: Linear) -> tuple[Node, ...]:
            nodes = [node for copy in self._parts(parts, index) for node in copy.operation.nodes()]
            row = index * run.rows + run.first_row
            is_new = new_weights and begin == 0
            pairs = pair(step, row, run.rows, dim, new_weights=is_new, overwrites=overwrites)
            return (*nodes, *pairs)

        return self._ranges(sorted(cuts), body)

    # ---- parts of copies ----------------------------------------------------------------

    def _ahead(
        self, bound: _Bound, extent: int, inner: int, due_first: list[_Bound]
    ) -> list[_Part]:
        """Where the parts of a copy go that the iterations of a loop need: each into an iteration
        before.  What the first one needs is added to ``due_first``."""
        needed = np.minimum(bound.blocks // inner, extent)  # the iteration
        axis, per_index = _varying(needed, least=True)
        if not bound.copy.is_divisible:
            axis = None
        if axis is None:
            first = int(needed.min())
            if first == 0:
                due_first.append(bound)
                return []
            return self._spread([bound.copy], int(first > 1), first)
        if np.any(np.diff(per_index) < 0):
            due_first.append(bound)
            return []
        at_once = int(np.count_nonzero(per_index == 0))
        count = len(per_index) - at_once
        if at_once:
            due_first.append(_slice(bound, axis, at_once))
        later = per_index[at_once:]
        each = int(np.max(-(-np.arange(1, count + 1) // np.maximum(later, 1)))) if count else 1
        return _dealt(bound.copy, axis, at_once, count, 0, each)

    def _behind(
        self, bound: _Bound, extent: int, inner: int, after_last: list[_Bound]
    ) -> list[_Part]:
        """Where the parts of a copy go that follow the iterations of a loop: each into one behind.
        What follows the last one is added to ``after_last``."""
        ready = np.maximum(bound.blocks, -1) // inner  # the iteration
        axis, per_index = _varying(ready, least=False)
        if not bound.copy.is_divisible:
            axis = None
        last = _Bound(bound.copy, bound.blocks - (extent - 1) * inner)
        if axis is None or np.any(np.diff(per_index) < 0):
            after_last.append(last)
            return []
        late = int(np.count_nonzero(per_index >= extent - 1))
        count = len(per_index) - late
        for begin in range(int(per_index[0]) + 1, extent):
            each = max(1, ceil_div(count, extent - begin))
            if np.all(begin + np.arange(count) // each > per_index[:count]):
                break
        else:
            after_last.append(last)
            return []
        if late:
            after_last.append(_slice(last, axis, late, start=count))
        return _dealt(bound.copy, axis, 0, count, begin, each)

    def _spread(self, copies: Sequence[Copy], first: int, end: int) -> list[_Part]:
        """Parts of copies for the iterations of a loop from ``first`` to ``end``, about as many for
        each."""
        parts: list[_Part] = []
        first_cycles = sum(_cycles(copy) for copy in copies if copy.first)
        last_cycles = sum(_cycles(copy) for copy in copies if copy.last)
        turn = end
        if first_cycles and last_cycles and end - first > 1:
            share = first_cycles / (first_cycles + last_cycles)
            turn = min(end - 1, max(first + 1, first + round((end - first) * share)))
        cursor = 0
        bundle = [0, 0]  # loads and stores that are issued together at the cursor
        for copy in copies:
            begin = turn if copy.last and turn < end else first
            room = (turn if copy.first else end) - begin
            loops = copy.operation.loops
            if not loops or not copy.is_divisible:
                bundle[copy.operation.is_load] += 1
                if not (bundle[0] <= self.most_stores and bundle[1] <= self.most_loads):
                    cursor, bundle = (cursor + 1) % (end - first), [0, 0]
                at = begin + min(cursor, room - 1)
                whole = copy.operation
                parts.append(_Part(at, at + 1, whole.number, partial(_whole, whole), copy))
                continue
            axis = _best_axis([loop.extent for loop in loops], room)
            count = loops[axis].extent
            each, left = divmod(count, room)
            if each:
                parts += _dealt(copy, axis, 0, count - left, begin, each)
            if left:
                offset = min(cursor, room - left)
                parts += _dealt(copy, axis, count - left, left, begin + offset, 1)
                cursor = (cursor + left) % (end - first)
        return parts

    def _parts(self, parts: Sequence[_Part], index: Linear) -> list[Copy]:
        """The parts of copies in an iteration of a loop, or in those of a range."""
        copies = []
        for part in parts:
            conditions = (index - part.begin, Linear(part.end - 1) - index)
            operation = part.at(index).where(conditions, self.ids)
            if operation is not None:
                copies.append(part.copy.with_operation(operation))
        return copies

    def _at_once(self, parts: Sequence[_Part], extent: int) -> list[_Part]:
        """The parts that are issued when an iteration of a loop begins: those of few commands, and,
        of those of all iterations, no more than a queue holds together."""
        room = {True: [self.most_loads] * extent, False: [self.most_stores] * extent}
        found = []
        # To deal out others inside, the loop would have to be cut.
        for part in sorted(parts, key=lambda part: part.end - part.begin == extent):
            left = room[part.copy.operation.is_load]
            mine = range(part.begin, part.end)
            few = self.most_loads // 3 if part.copy.operation.is_load else self.most_stores // 2
            if part.commands > max(1, few) or any(_in_order(part, other) for other in parts):
                continue
            if len(mine) < extent or all(left[i] >= part.commands for i in mine):
                for i in mine:
                    left[i] -= part.commands
                found.append(part)
        return [part for part in parts if part in found]


def _in_order(part: _Part, other: _Part) -> bool:
    """Whether one of two parts in the same iteration has to follow the other."""
    meet = part.begin < other.end and other.begin < part.end
    follows = (part.copy.first and other.copy.last) or (part.copy.last and other.copy.first)
    return meet and follows


def _best_axis(extents: Sequence[int], iterations: int) -> int:
    """The loop of a copy that is dealt out to so many iterations most evenly."""
    return min(
        range(len(extents)),
        key=lambda i: (ceil_div(extents[i], iterations) * iterations / extents[i], -extents[i]),
    )


def _whole(operation: CopyOperation, _: Linear) -> CopyOperation:
    return operation


def _cycles(copy: Copy) -> float:
    return copy.operation.number * copy.operation.cycles


def _dealt(copy: Copy, axis: int, start: int, count: int, begin: int, each: int) -> list[_Part]:
    """``count`` iterations of a copy's loop from ``start`` on, ``each`` an iteration of another
    loop from ``begin`` on, the last one with what is left."""
    operation = copy.operation
    others = operation.number // operation.loops[axis].extent

    def part(start: int, begin: int, times: int, each: int) -> _Part:
        def at(index: Linear) -> CopyOperation:
            return operation.sliced(axis, (index - begin) * each + start, each)

        return _Part(begin, begin + times, each * others, at, copy)

    whole, rest = divmod(count, each)
    parts = [part(start, begin, whole, each)] if whole else []
    if rest:
        parts.append(part(start + whole * each, begin + whole, 1, rest))
    return parts


def _varying(values: np.ndarray, *, least: bool) -> tuple[int | None, np.ndarray]:
    """The axis along which the least (or greatest) value of all others differs most, and those
    values; None where none does."""
    best: tuple[int | None, np.ndarray] = (None, values)
    most = 0
    for axis in range(values.ndim):
        others = tuple(other for other in range(values.ndim) if other != axis)
        along = values.min(axis=others) if least else values.max(axis=others)
        spread = int(along.max() - along.min())
        if spread > most:
            best, most = (axis, along), spread
    return best


def _slice(bound: _Bound, axis: int, count: int, start: int = 0) -> _Bound:
    """``count`` iterations of a copy's loop."""
    part = bound.copy.operation.sliced(axis, Linear(start), count)
    blocks = np.take(bound.blocks, range(start, start + count), axis=axis)
    if count == 1:
        blocks = blocks.squeeze(axis)
    return _Bound(bound.copy.with_operation(part), blocks)
