"""Interleaving: which part of a copy is issued in which iterations of a loop of steps.

The iterations of a copy are cut into parts of a fixed pattern: so many an iteration of the loop,
for a range of its iterations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ..passes.linear import Linear
from .blocks import ahead, behind, from_block, some_of, varying
from .in_step import in_step, keep_up
from .operations import CopyKind, Engine, LoopIds
from .parts import Bound, Copy, Part, best_axis, dealt

# Entries of a queue that are left for what the device has not begun yet.
_QUEUE_SLACK = 2


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
        return dealt(bound.copy, axis, at_once, found.later, 0, found.each)

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
        return parts + dealt(second.copy, axis, 0, middle, 0, each)

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
        return dealt(bound.copy, found.axis, 0, found.early, found.begin, found.each)

    def spread(
        self, copies: Sequence[Copy], first: int, end: int, *, step_cycles: float | None = None
    ) -> list[Part]:
        """Parts of copies for the iterations of a loop from ``first`` to ``end``, about as many for
        each.  ``step_cycles``: of an iteration's steps where the loop is the outermost of a
        nest."""
        if not copies:
            return []
        both = in_step(copies, first, end)
        if both is None:
            return self._by_turns(copies, first, end)
        skip = 0
        if step_cycles is not None and first == 0:
            if keep_up(both, end, step_cycles):
                # When a nest begins, the array has steps of the one before in its queue, and the
                # first stores read the bank that these write: loads of what they read would hold
                # them up too.
                skip = 1
            elif all(cycles <= end * step_cycles for cycles in _engine_cycles(copies).values()):
                # Loads that wait for their stores would fill the queue and block the host, so that
                # the array, which has the most to do, runs out of steps.
                late = in_step(copies, first, end, step_cycles, self.store_latency_cycles)
                both = late or both
        others = [copy for copy in copies if not copy.first and not copy.last]
        others_parts = self._by_turns(others, first, end, skip)
        # A load that waits for a store holds up those behind it in its queue.
        return [*both.firsts, *others_parts, *both.lasts]

    def _by_turns(self, copies: Sequence[Copy], first: int, end: int, skip: int = 0) -> list[Part]:
        """Those first that others follow, then these.  ``skip``: how many iterations what fills
        fewer leaves out at the beginning."""
        parts: list[Part] = []
        first_cycles = sum([copy.cycles for copy in copies if copy.first])
        last_cycles = sum([copy.cycles for copy in copies if copy.last])
        turn = end
        if first_cycles and last_cycles and end - first > 1:
            turn = first + _turn(first_cycles, last_cycles, end - first)
        cursor = 0
        bundle: dict[Engine, int] = {}  # how many are issued together at the cursor
        for copy in copies:
            begin = turn if copy.last and turn < end else first
            room = (turn if copy.first else end) - begin
            loops = copy.operation.loops
            if not loops or not copy.is_divisible:
                engine = copy.operation.kind.engine
                bundle[engine] = bundle.get(engine, 0) + 1
                if bundle[engine] > self.room[engine]:
                    cursor, bundle = (cursor + 1) % (end - first), {}
                at = begin + min(cursor, room - 1)
                parts.append(Part(at, at + 1, copy.operation.number, copy))
                continue
            axis = best_axis(tuple([loop.extent for loop in loops]), room)
            count = loops[axis].extent
            each, left = divmod(count, room)
            if each:
                parts += dealt(copy, axis, 0, count - left, begin, each)
            if left:
                offset = min(max(cursor, 0 if each else skip), room - left)
                parts += dealt(copy, axis, count - left, left, begin + offset, 1)
                cursor = (cursor + left) % (end - first)
        return parts

    def parts_in(self, parts: Sequence[Part], index: Linear) -> list[Copy]:
        """The parts of copies in an iteration of a loop, or in those of a range."""
        if not parts:
            return []
        copies = []
        least, greatest = self.ids.bounds(index)
        for part in parts:
            begin, end, copy = part.begin, part.end, part.copy
            if greatest < begin or end <= least:
                continue
            conditions = []
            if least < begin:
                conditions.append(index - begin)
            if end <= greatest:
                conditions.append(Linear(end - 1) - index)
            operation = part.at(index).where(conditions, self.ids)
            if operation is not None:
                copies.append(copy.with_operation(operation))
        return copies

    def at_once(self, parts: Sequence[Part], extent: int) -> tuple[list[Part], list[Part]]:
        """The parts that are issued when an iteration of a loop begins: those of few commands, and,
        of those of all iterations, no more than a queue holds together.  And the others."""
        chosen: set[int] = set()
        whole = []
        for index, part in enumerate(parts):
            if part.commands > 1 and part.commands > self._few(part.copy.operation.kind):
                continue
            if _has_order(part, parts):
                continue
            if part.end - part.begin == extent:
                whole.append(index)
            else:
                chosen.add(index)
        # To interleave others inside, the loop would have to be cut.
        room: dict[Engine, int] = {}
        for index in whole:
            engine = parts[index].copy.operation.kind.engine
            if engine not in room:
                most = _most_commands([parts[i] for i in chosen], engine)
                room[engine] = self.room[engine] - most
            if room[engine] >= parts[index].commands:
                room[engine] -= parts[index].commands
                chosen.add(index)
        mine = [part for index, part in enumerate(parts) if index in chosen]
        return mine, [part for index, part in enumerate(parts) if index not in chosen]

    def _few(self, kind: CopyKind) -> int:
        """How many commands an iteration may begin with."""
        return self.room[kind.engine] // (3 if kind.is_load else 2)


def _most_commands(parts: Sequence[Part], engine: Engine) -> int:
    """How many commands for an engine come together at most in an iteration."""
    mine = [part for part in parts if part.copy.operation.kind.engine is engine]
    return max(
        [
            sum([other.commands for other in mine if other.begin <= part.begin < other.end])
            for part in mine
        ],
        default=0,
    )


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


def _slice(bound: Bound, axis: int, count: int, start: int = 0) -> Bound:
    """``count`` iterations of a copy's loop."""
    part = bound.copy.operation.sliced(axis, Linear(start), count)
    return Bound(bound.copy.with_operation(part), some_of(bound.blocks, axis, start, count))
