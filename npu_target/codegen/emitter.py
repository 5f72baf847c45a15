"""A nest of steps with its copies, and copies by themselves, where they are placed."""

from __future__ import annotations

from collections.abc import Iterable

from ..device import DeviceConfig
from ..device.emission import Emission
from ..pipeline_options import PipelineOptions
from .around import Around
from .ends import begin_soon, end_soon, late_parts
from .nests import Nest
from .operations import CopyOperation, LoopIds, values_of
from .parts import Copy
from .placed import Placed, PlacedCopy, PlacedNodes
from .placement import Placer
from .report import (
    BEFORE,
    BEHIND,
    BY_STEPS,
    IN_ORDER,
    IN_USE,
    LAST,
    NO_STEPS_BEFORE,
    NO_STEPS_BEHIND,
    NoReport,
)
from .steps import Steps
from .two_places import InputPlaces
from .waiting import Open, Waiting, in_order


class Emitter:
    """Places nests; steps in ``overwritten`` start their sums by overwriting them."""

    def __init__(
        self,
        emission: Emission,
        overwritten: set[Nest],
        config: DeviceConfig,
        ids: LoopIds,
        report: NoReport,
        options: PipelineOptions,
        inputs: InputPlaces,
    ) -> None:
        self.emission = emission
        self.overwritten = overwritten
        self.config = config
        self.ids = ids
        self.report = report
        self.options = options
        self.inputs = inputs
        self._cycles: dict[Nest, float] = {}

    def nest(self, opened: Open, behind: str) -> tuple[Placed, ...]:
        """A nest of steps with its copies; ``behind`` is why some stay behind it."""
        self.report.nest(opened.nest, NO_STEPS_BEFORE if opened.is_first else IN_USE, behind)
        placer = self._placer(opened)
        if behind == NO_STEPS_BEHIND and _orders_ends(opened.after):
            end_soon(placer, self.steps(opened, coalesce=False), _copies(opened.after))
        settings = PlacedNodes(self.emission.before_steps(placer.steps.step))
        before, free = in_order(opened.free)
        free = placer.inputs_last(free)
        reloads = [
            copy._replace(leaves_rest=True, is_own=False) for copy in _copies(opened.reloads)
        ]
        due = _copies(opened.due)
        is_tied = bool(opened.after or opened.reloads)  # to where its last steps are
        begins_soon = opened.is_first and not is_tied and _orders_ends(opened.due)
        if begins_soon:
            due = begin_soon(placer, due)
        parts = placer.steps
        placed = placer.place(
            due,
            free,
            [*_copies(opened.after), *reloads],
            in_halves=any(waiting.nest.is_halved for waiting in opened.due),
        )
        if begins_soon:
            placed = self.inputs.in_two_places(
                placed, parts, opened.nest, opened.values, opened.touched
            )
        first = self.plain(before, BEFORE, IN_ORDER)
        last = (
            *self.plain(opened.held, BEHIND, BY_STEPS),
            *self.plain(opened.last, BEHIND, LAST),
        )
        self.report.nest(None, "", "")
        return (*first, settings, *placed, *last)

    def plain(self, copies: Iterable[Waiting], place: str, reason: str) -> tuple[Placed, ...]:
        """Copies one after the other: where they are, and why not between steps."""
        placed = [PlacedCopy(x, waiting.touched) for waiting in copies for x in waiting.operations]
        for copy in placed:
            self.report.copy(copy.operation, place, reason)
        return tuple(placed)

    def rest(self, opened: Open, waiting: Waiting) -> list[CopyOperation]:
        """What has to follow the last steps of a nest of a copy that the next steps need too."""
        placer = self._placer(opened)
        rest = [placer.rest(copy) for copy in _copies([waiting])]
        return [operation.merged() for operation in rest if operation is not None]

    def memory_cycles(self, opened: Open) -> float:
        """How long memory takes for the loads of a nest, and for those that go into it; what it
        has loaded once the cache has."""
        cycles = 0.0
        loaded: set[object] = set()
        for waiting in (*opened.due, *opened.free):
            parts = [(x.kind.argument, x.dram_bytes.const, x.number) for x in waiting.operations]
            if waiting.nest.is_load and not loaded.issuperset(parts):
                cycles += self.copy_cycles(waiting)
                loaded.update(parts)
        return cycles

    def late_part(
        self, opened: Open, waiting: Waiting, most_cycles: float
    ) -> tuple[Waiting, Waiting, float] | None:
        """Of a copy what the steps of a nest need first, and what may come beside them, of so many
        cycles at most; and how many that takes.  None where that is nothing."""
        early, late = late_parts(self._placer(opened), _copies([waiting]), most_cycles)
        cycles = sum(operation.number * operation.cycles for operation in late)
        if not late:
            return None
        first, rest = ([operation.merged() for operation in part] for part in (early, late))
        return waiting.rest(lambda: first, opened), waiting.rest(lambda: rest, opened), cycles

    def copy_cycles(self, waiting: Waiting) -> float:
        """About how long a copy keeps its engine: as long as in the first iteration."""
        if waiting.nest not in self._cycles:
            operations = waiting.operations
            self._cycles[waiting.nest] = sum(x.number * x.cycles for x in operations)
        return self._cycles[waiting.nest]

    def step_cycles(self, opened: Open) -> float:
        """How long the steps of a nest take."""
        if opened.nest not in self._cycles:
            self._cycles[opened.nest] = self.steps(opened).cycles
        return self._cycles[opened.nest]

    def steps(self, opened: Open, *, coalesce: bool = True) -> Steps:
        """The steps of a nest, in loops of their own."""
        nest = opened.nest
        loops = self.ids.like(nest.loops)
        inner = {**opened.values, **values_of(nest.loops, loops)}
        overwrites = nest in self.overwritten
        coalesce = coalesce and self.options.coalescing
        return Steps(nest.step(inner), loops, overwrites, coalesce=coalesce)

    def _placer(self, opened: Open) -> Placer:
        """Places copies in the steps of a nest."""
        emission = self.emission
        placer = Placer if self.options.interleaving else Around
        return placer(
            self.steps(opened),
            opened.touched,
            emission.queue_entries,
            self.ids,
            self.report,
            emission.store_latency_cycles,
        )


def _orders_ends(waiting: Iterable[Waiting]) -> bool:
    return any(one.nest.orders_ends for one in waiting)


def _copies(waiting: Iterable[Waiting]) -> list[Copy]:
    return [
        Copy(operation, one.touched, is_divisible=operation.is_divisible)
        for one in waiting
        for operation in one.operations
    ]
