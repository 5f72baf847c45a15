"""What was placed where, and what no steps hide: a compilation's account of its schedule.

Counts are of one run of the program.  What stands under a condition is counted as if it held, and
cycles are what the device says of its commands, so a figure is what it is at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .operations import CopyOperation, Engine
from .steps import Steps

BEFORE = "before the steps"
BEHIND = "behind the steps"
BETWEEN = "between the steps"
AHEAD = "ahead: steps before its own"
OWN = "its own steps"
LATE = "late: steps behind its own"
ALONE = "by itself"
IN_A_BLOCK = "inside of a block of rows"
NO_STEPS = "no steps beside it"
NO_STEPS_BEFORE = "no steps before"
NO_STEPS_BEHIND = "no steps behind"
NO_OVERLAP = "the pipeline of the compiler overlaps nothing"
PROGRAM_ORDER = "the schedule has program order; the device overlaps what its queues hold"
NOT_STEADY = "loop {} is not steady: iterations leave different copies open, so none overlap"
IN_ORDER = "others follow it that others follow"
PHASES = "more settings than the device holds at once, so parts of the function do not overlap"
BY_STEPS = "the engine of the steps does it"
NOT_INTERLEAVED = "the pipeline of the compiler interleaves no copies"
LAST = "follows copies between the steps"
ROWS_UNKNOWN = "its rows are not known"
EARLY = "comes with the first block, needed later"
FIRST_BLOCK = "first block needs its rows"
LAST_BLOCK = "last block makes its rows"
IN_USE = "neighbouring steps use them too"
TOO_LONG = "copies take longer than the steps"


@dataclass(frozen=True)
class Entry:
    """A nest of steps, or copies placed alike.

    nest : of steps, from 1 in the order of the program; 0 where there are none.
    what : ``steps``, or the argument and the memory of a copy.
    commands, cycles : of all runs together; how long they keep their engine.
    place : where copies are; empty for steps.
    reason : why steps do not hide it; empty where they do.
    exposed_cycles : that no steps hide, at most.
    """

    nest: int
    engine: Engine
    what: str
    commands: int
    cycles: float
    place: str = ""
    reason: str = ""
    exposed_cycles: float = 0.0


class NoReport:
    """Is told where operations are placed, and forgets it."""

    def begin(self) -> None:
        """A phase is made, perhaps anew: what was told of it before does not count."""

    def in_phases(self) -> None:
        """From here on a phase is only a part of the function."""

    def keep(self) -> None:
        """The phase stays as it is."""

    def enter(self, times: int, note: str = "") -> None:
        """What is told from here on runs so often; ``note`` is a reason for what is not hidden."""

    def leave(self) -> None:
        """The end of what `enter` began."""

    def nest(self, key: object, before: str, behind: str) -> None:
        """Copies belong to this nest of steps from here on; why those that it needs are not
        between the steps before, and those that need it not between the steps behind."""

    def steps(self, steps: Steps) -> None:
        """The nest's steps."""

    def copy(
        self, operation: CopyOperation, place: str, reason: str = "", n: int | None = None
    ) -> None:
        """``n`` commands of a copy (all, by default) are here; not hidden with a reason."""

    def between(
        self, operation: CopyOperation, is_own: bool, n: int, early: int, extent: int
    ) -> None:
        """``n`` commands of a copy, that the steps need or that needs them, or of another nest's,
        are interleaved with the iterations of a loop of the steps; ``early`` ones with the first,
        whose steps do not need them yet and come behind."""

    def at_once(
        self, operations: Sequence[tuple[CopyOperation, bool]], room: Mapping[Engine, int]
    ) -> None:
        """Copies that come together inside of a block, where the queues have room for so many
        commands.  Each with whether it is the steps' own, as in `between`."""


class ScheduleReport(NoReport):
    """Collects entries; ``arguments`` are the names of the program's."""

    def __init__(self) -> None:
        self.arguments: Sequence[str] = ()
        self._kept: list[Entry] = []
        self._nests: dict[object, int] = {}
        self._note = ""
        self.begin()

    def begin(self) -> None:
        """See `NoReport`."""
        self._made: list[Entry] = []
        self._times: list[tuple[int, str]] = [(1, self._note)]
        self._nest, self._before, self._behind = 0, "", ""

    def in_phases(self) -> None:
        """See `NoReport`."""
        self._note = PHASES

    def keep(self) -> None:
        """See `NoReport`."""
        self._kept += self._made
        self.begin()

    def enter(self, times: int, note: str = "") -> None:
        """See `NoReport`."""
        around, outer_note = self._times[-1]
        self._times.append((around * times, note or outer_note))

    def leave(self) -> None:
        """See `NoReport`."""
        self._times.pop()

    def nest(self, key: object, before: str, behind: str) -> None:
        """See `NoReport`."""
        self._nest = 0 if key is None else self._nests.setdefault(key, len(self._nests) + 1)
        self._before, self._behind = before, behind

    def steps(self, steps: Steps) -> None:
        """See `NoReport`."""
        commands = steps.step.intrinsic.commands * sum(run.times for run in steps.runs)
        commands *= steps.n_blocks
        self._add(Engine.EXECUTE, "steps", commands, steps.cycles)

    def copy(
        self, operation: CopyOperation, place: str, reason: str = "", n: int | None = None
    ) -> None:
        """See `NoReport`."""
        n = operation.number if n is None else n
        if not n:
            return
        around = {FIRST_BLOCK: self._before, LAST_BLOCK: self._behind}.get(reason, "")
        note = self._times[-1][1]
        if note and (around or reason) in (NO_STEPS, NO_STEPS_BEFORE, NO_STEPS_BEHIND):
            around = note  # why there are none
        if around:
            reason = f"{reason}; {around}"
        cycles = n * operation.cycles
        exposed = cycles if reason else 0.0
        what = self._name(operation)
        self._add(operation.kind.engine, what, n, cycles, place, reason, exposed)

    def between(
        self, operation: CopyOperation, is_own: bool, n: int, early: int, extent: int
    ) -> None:
        """See `NoReport`."""
        self.copy(operation, BEFORE, EARLY, n=early)
        self.copy(operation, f"{_between(operation, is_own)}, loop of {extent}", n=n - early)

    def at_once(
        self, operations: Sequence[tuple[CopyOperation, bool]], room: Mapping[Engine, int]
    ) -> None:
        """See `NoReport`."""
        for operation, is_own in operations:
            self.copy(operation, f"{_between(operation, is_own)}, {IN_A_BLOCK}")
        for engine, most in room.items():
            mine = [operation for operation, _ in operations if operation.kind.engine is engine]
            number = sum(operation.number for operation in mine)
            if number > most:
                cycles = sum(operation.number * operation.cycles for operation in mine)
                reason = f"{number} at once, the queue has room for {most}"
                exposed = cycles * (number - most) / number
                self._add(engine, "all of them", 0, 0.0, IN_A_BLOCK, reason, exposed)

    @property
    def entries(self) -> list[Entry]:
        """By nests; of each its steps first, then what they do not hide.  Copies of one kind at
        one place are one entry, and one tells what of those between steps is too long."""
        merged: dict[tuple[object, ...], Entry] = {}
        for entry in self._kept:
            key = (entry.nest, entry.engine, entry.what, entry.place, entry.reason)
            known = merged.get(key)
            if known is not None:
                entry = replace(
                    entry,
                    commands=entry.commands + known.commands,
                    cycles=entry.cycles + known.cycles,
                    exposed_cycles=entry.exposed_cycles + known.exposed_cycles,
                )
            merged[key] = entry
        found = list(merged.values())
        for nest in self._nests.values():
            mine = [entry for entry in found if entry.nest == nest]
            steps = sum(entry.cycles for entry in mine if entry.engine is Engine.EXECUTE)
            for engine in (Engine.LOAD, Engine.STORE):
                hidden = [entry for entry in mine if entry.engine is engine and not entry.reason]
                excess = sum(entry.cycles for entry in hidden) - steps
                if excess > 0:
                    found.append(
                        Entry(nest, engine, "all of them", 0, 0.0, BETWEEN, TOO_LONG, excess)
                    )
        return sorted(found, key=_order)

    def _add(
        self,
        engine: Engine,
        what: str,
        commands: int,
        cycles: float,
        place: str = "",
        reason: str = "",
        exposed: float = 0.0,
    ) -> None:
        times = self._times[-1][0]
        self._made.append(
            Entry(
                self._nest,
                engine,
                what,
                commands * times,
                cycles * times,
                place,
                reason,
                exposed * times,
            )
        )

    def _name(self, operation: CopyOperation) -> str:
        kind = operation.kind
        argument = "zeros" if kind.argument is None else self.arguments[kind.argument]
        return f"{argument} {'from' if not operation.is_load else 'to'} {kind.memory.title}"


def _order(entry: Entry) -> tuple[int, bool, bool, bool]:
    is_steps = entry.engine is Engine.EXECUTE
    return entry.nest, not is_steps, not entry.reason, entry.engine is Engine.STORE


def _between(operation: CopyOperation, is_own: bool) -> str:
    if is_own:
        return OWN
    return AHEAD if operation.is_load else LATE
