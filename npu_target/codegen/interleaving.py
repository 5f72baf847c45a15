"""Interleaving: which part of a copy is issued in which iterations of a loop of steps.

The iterations of a copy are cut into parts of a fixed pattern: so many an iteration of the loop,
for a range of its iterations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..passes.linear import Item, Linear
from ..topi.blocking import ceil_div
from .blocks import Blocks, ahead, behind, from_block, some_of, varying
from .dependences import Touched
from .operations import CopyOperation, Engine, LoopIds, RowPattern
from .placed import PlacedCopy

# Entries of a queue that are left for what the device has not begun yet.
_QUEUE_SLACK = 2


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


class _InStep(NamedTuple):
    """Parts of copies that others follow, and of these."""

    firsts: list[Part]
    lasts: list[Part]


class Interleaver:
    """Interleaves copies with steps for a device whose engines' queues hold so many commands, and
    whose stores are done so long after a step, beside the time that they keep their engine."""

    def __init__(
        self,
        queue_entries: Mapping[Engine, int],
        ids: LoopIds,
        store_latency_cycles: float = 0.0,
    ) -> None:
        self.ids = ids
        self.store_latency_cycles = store_latency_cycles
        self.room = {
            engine: max(1, entries - _QUEUE_SLACK) for engine, entries in queue_entries.items()
        }

    def ahead(self, bound: Bound, extent: int, inner: int, due_first: list[Bound]) -> list[Part]:
        """Where the parts of a copy go that the iterations of a loop need: each into an iteration
        before.  What the first one needs is added to ``due_first``."""
        found = ahead(bound.blocks, inner, extent)
        if found.axis is None or not bound.copy.is_divisible:
            if found.first == 0:
                due_first.append(bound)
                return []
            return self.spread([bound.copy], int(found.first > 1), found.first)
        if not found.in_order:
            due_first.append(bound)
            return []
        axis, at_once = found.axis, found.at_once
        if at_once:
            due_first.append(_slice(bound, axis, at_once))
        return _dealt(bound.copy, axis, at_once, found.later, 0, found.each)

    def ahead_by_halves(
        self, bound: Bound, extent: int, inner: int, due_first: list[Bound]
    ) -> list[Part]:
        """As `ahead`, for a loop whose iterations need a part of the one half of what is loaded
        and then a part of the other: of the other into the same iteration."""
        needed = np.minimum(bound.blocks.values // inner, extent)
        axis, per_index = varying(needed, least=True)
        if axis is None or len(per_index) % 2:
            return self.ahead(bound, extent, inner, due_first)
        middle = len(per_index) // 2
        if np.any(np.diff(per_index[:middle]) < 0):
            return self.ahead(bound, extent, inner, due_first)
        first, second = (_slice(bound, axis, middle, start) for start in (0, middle))
        first, second = (
            Bound(part.copy._replace(half=half), part.blocks)
            for half, part in enumerate((first, second))
        )
        parts = self.ahead(first, extent, inner, due_first)
        each, left = divmod(middle, extent)
        turn = np.arange(middle) // max(each, 1)  # in which it would be loaded
        blocks = second.blocks.values
        if middle > 1:
            blocks = np.moveaxis(blocks, axis, -1)
        if left or not each or np.any(blocks < turn * inner + inner // 2):
            return parts + self.ahead(second, extent, inner, due_first)
        return parts + _dealt(second.copy, axis, 0, middle, 0, each)

    def behind(self, bound: Bound, extent: int, inner: int, after_last: list[Bound]) -> list[Part]:
        """Where the parts of a copy go that follow the iterations of a loop: each into one behind.
        What follows the last one is added to ``after_last``."""
        last = Bound(bound.copy, from_block(bound.blocks, (extent - 1) * inner))
        found = behind(bound.blocks, inner, extent) if bound.copy.is_divisible else None
        if found is None:
            after_last.append(last)
            return []
        if found.late:
            after_last.append(_slice(last, found.axis, found.late, start=found.early))
        return _dealt(bound.copy, found.axis, 0, found.early, found.begin, found.each)

    def spread(
        self, copies: Sequence[Copy], first: int, end: int, *, step_cycles: float | None = None
    ) -> list[Part]:
        """Parts of copies for the iterations of a loop from ``first`` to ``end``, about as many for
        each.  ``step_cycles``: of an iteration's steps where the loop is the outermost of a
        nest."""
        in_step = self._in_step(copies, first, end)
        if in_step is None:
            return self._by_turns(copies, first, end)
        skip = 0
        if step_cycles is not None and first == 0:
            if _keep_up(in_step, end, step_cycles):
                # When a nest begins, the array has steps of the one before in its queue, and the
                # first stores read the bank that these write: loads of what they read would hold
                # them up too.
                skip = 1
            elif all(cycles <= end * step_cycles for cycles in _engine_cycles(copies).values()):
                # Loads that wait for their stores would fill the queue and block the host, so that
                # the array, which has the most to do, runs out of steps.
                in_step = self._in_step(copies, first, end, step_cycles) or in_step
        others = [copy for copy in copies if not copy.first and not copy.last]
        others_parts = self._by_turns(others, first, end, skip)
        # A load that waits for a store holds up those behind it in its queue.
        return [*in_step.firsts, *others_parts, *in_step.lasts]

    def _by_turns(self, copies: Sequence[Copy], first: int, end: int, skip: int = 0) -> list[Part]:
        """Those first that others follow, then these.  ``skip``: how many iterations what fills
        fewer leaves out at the beginning."""
        parts: list[Part] = []
        first_cycles = sum(copy.cycles for copy in copies if copy.first)
        last_cycles = sum(copy.cycles for copy in copies if copy.last)
        turn = end
        if first_cycles and last_cycles and end - first > 1:
            turn = first + _turn(first_cycles, last_cycles, end - first)
        cursor = 0
        bundle: Counter[Engine] = Counter()  # what is issued together at the cursor
        for copy in copies:
            begin = turn if copy.last and turn < end else first
            room = (turn if copy.first else end) - begin
            loops = copy.operation.loops
            if not loops or not copy.is_divisible:
                engine = copy.operation.kind.engine
                bundle[engine] += 1
                if bundle[engine] > self.room[engine]:
                    cursor, bundle = (cursor + 1) % (end - first), Counter()
                at = begin + min(cursor, room - 1)
                whole = copy.operation
                parts.append(Part(at, at + 1, whole.number, partial(_whole, whole), copy))
                continue
            axis = best_axis([loop.extent for loop in loops], room)
            count = loops[axis].extent
            each, left = divmod(count, room)
            if each:
                parts += _dealt(copy, axis, 0, count - left, begin, each)
            if left:
                offset = min(max(cursor, 0 if each else skip), room - left)
                parts += _dealt(copy, axis, count - left, left, begin + offset, 1)
                cursor = (cursor + left) % (end - first)
        return parts

    def _in_step(
        self, copies: Sequence[Copy], first: int, end: int, step_cycles: float | None = None
    ) -> _InStep | None:
        """Parts of the copies that others follow, and of these, each at the earliest in the
        iteration with the last of what it follows, or, by the cycles of an iteration's steps, in
        which that is done.  None where the rows do not tell, or where the copies cannot be cut
        so."""
        firsts = [copy for copy in copies if copy.first]
        lasts = [copy for copy in copies if copy.last]
        iterations = end - first
        if not firsts or not lasts or iterations < 2:
            return None
        rows = [one for copy in (*firsts, *lasts) if (one := _rows_of(copy)) is not None]
        known = len(rows) == len(firsts) + len(lasts)
        if not known or len({one.around for one in rows}) > 1:
            return None
        found = _InStep([], [])
        dealt = []
        for copy, one in zip(firsts, rows[: len(firsts)], strict=True):
            extents = [loop.extent for loop in copy.operation.loops]
            axis = best_axis(extents, iterations)
            each = ceil_div(extents[axis], iterations)
            found.firsts.extend(_dealt(copy, axis, 0, extents[axis], first, each))
            late = 0
            if step_cycles is not None:
                cycles = copy.cycles * each / extents[axis] + self.store_latency_cycles
                late = int(cycles // step_cycles)
            turns = np.minimum(np.arange(extents[axis]) // each + late, iterations - 1)
            dealt.append(_Dealt(one, axis, tuple(turns.tolist())))
        for copy, one in zip(lasts, rows[len(firsts) :], strict=True):
            place = behind(_preceding(tuple(dealt), one), 1, iterations)
            if place is None:
                return None
            begin = first + place.begin
            found.lasts.extend(_dealt(copy, place.axis, 0, place.early, begin, place.each))
        return found

    def parts_in(self, parts: Sequence[Part], index: Linear) -> list[Copy]:
        """The parts of copies in an iteration of a loop, or in those of a range."""
        copies = []
        least, greatest = self.ids.bounds(index)
        for part in parts:
            if greatest < part.begin or part.end <= least:
                continue
            conditions = []
            if least < part.begin:
                conditions.append(index - part.begin)
            if part.end <= greatest:
                conditions.append(Linear(part.end - 1) - index)
            operation = part.at(index).where(conditions, self.ids)
            if operation is not None:
                copies.append(part.copy.with_operation(operation))
        return copies

    def at_once(self, parts: Sequence[Part], extent: int) -> list[Part]:
        """The parts that are issued when an iteration of a loop begins: those of few commands, and,
        of those of all iterations, no more than a queue holds together."""
        if not parts:
            return []
        room = {engine: [commands] * extent for engine, commands in self.room.items()}
        found = []
        # To interleave others inside, the loop would have to be cut.
        for part in sorted(parts, key=lambda part: part.end - part.begin == extent):
            operation = part.copy.operation
            left = room[operation.kind.engine]
            mine = range(part.begin, part.end)
            few = self.room[operation.kind.engine] // (3 if operation.is_load else 2)
            if part.commands > max(1, few) or _has_order(part, parts):
                continue
            if len(mine) < extent or all(left[i] >= part.commands for i in mine):
                for i in mine:
                    left[i] -= part.commands
                found.append(part)
        return [part for part in parts if part in found]


def _has_order(part: Part, parts: Sequence[Part]) -> bool:
    """Whether one of several parts and this one have to follow each other in an iteration."""
    if not part.copy.first and not part.copy.last:
        return False
    return any(_in_order(part, other) for other in parts)


def _in_order(part: Part, other: Part) -> bool:
    """Whether one of two parts in the same iteration has to follow the other."""
    meet = part.begin < other.end and other.begin < part.end
    follows = (part.copy.first and other.copy.last) or (part.copy.last and other.copy.first)
    return meet and follows


class _Rows(NamedTuple):
    """The rows that a copy touches: from ``first`` on, and what loops around it add."""

    pattern: RowPattern
    first: int
    around: tuple[Item, ...]


def _rows_of(copy: Copy) -> _Rows | None:
    """None where they are not known, or where the copy cannot be cut."""
    operation = copy.operation
    pattern = operation.row_pattern()
    if pattern is None or not operation.loops or not copy.is_divisible:
        return None
    place = operation.row.without(*[loop.loop_id for loop in operation.loops])
    return _Rows(pattern, place.const, place.items)


class _Dealt(NamedTuple):
    """The rows of a copy, and in which iteration of a loop of steps those of each iteration of one
    of its own loops are issued, or done."""

    rows: _Rows
    axis: int
    turns: tuple[int, ...]


@lru_cache(maxsize=256)
def _preceding(dealt: tuple[_Dealt, ...], rows: _Rows) -> Blocks:
    """For each iteration of a copy with these rows the last one of a loop before which not all that
    it follows is issued; -2 where it follows nothing."""
    low = min(one.first + int(one.pattern.rows.min()) for one, _, _ in dealt)
    high = max(one.first + int(one.pattern.rows.max()) for one, _, _ in dealt)
    issued = np.full(high - low + 3, -1)  # in which iteration, by row, with one before and behind
    for one, axis, turns in dealt:
        touched = one.pattern.rows
        shape = [-1 if i == axis else 1 for i in range(touched.ndim)]
        np.maximum.at(issued, touched + (one.first - low + 1), np.reshape(turns, shape))
    mine = np.clip(rows.pattern.rows + (rows.first - low + 1), 0, len(issued) - 1)
    return Blocks(issued[mine].max(axis=-1) - 1)


def _keep_up(in_step: _InStep, iterations: int, step_cycles: float) -> bool:
    """Whether copies, and those that wait for them, are done in each iteration of steps that take
    so long before the next one's."""
    stored = loaded = 0.0
    for at in range(iterations):
        begin = at * step_cycles
        if loaded > begin:
            return False
        stored = max(stored, begin) + _cycles_in(in_step.firsts, at)
        loading = _cycles_in(in_step.lasts, at)
        if loading:
            loaded = max(loaded, stored) + loading
    return True


def _cycles_in(parts: Sequence[Part], at: int) -> float:
    """How long an iteration's parts keep their engine."""
    return sum(
        part.commands * part.copy.operation.cycles for part in parts if part.begin <= at < part.end
    )


def _engine_cycles(copies: Sequence[Copy]) -> Mapping[Engine, float]:
    """How long copies keep each engine."""
    found: defaultdict[Engine, float] = defaultdict(float)
    for copy in copies:
        found[copy.operation.kind.engine] += copy.cycles
    return found


def _turn(first_cycles: float, last_cycles: float, iterations: int) -> int:
    """In how many iterations those come that others follow, such that neither are closer together
    than need be: what does not keep up is not done when the next steps need its rows."""
    least = int(iterations * first_cycles / (first_cycles + last_cycles))
    return min(
        [n for n in (least, least + 1) if 0 < n < iterations],
        key=lambda n: max(first_cycles / n, last_cycles / (iterations - n)),
    )


def best_axis(extents: Sequence[int], iterations: int) -> int:
    """The loop of a copy that is interleaved with so many iterations most evenly."""
    return min(
        range(len(extents)),
        key=lambda i: (ceil_div(extents[i], iterations) * iterations / extents[i], -extents[i]),
    )


def _whole(operation: CopyOperation, _: Linear) -> CopyOperation:
    return operation


def _dealt(copy: Copy, axis: int, start: int, count: int, begin: int, each: int) -> list[Part]:
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


def _slice(bound: Bound, axis: int, count: int, start: int = 0) -> Bound:
    """``count`` iterations of a copy's loop."""
    part = bound.copy.operation.sliced(axis, Linear(start), count)
    return Bound(bound.copy.with_operation(part), some_of(bound.blocks, axis, start, count))
