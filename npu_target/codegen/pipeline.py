"""Software pipelining: the statements of a function as a stream of steps with copies around them.

The statements are walked in their order.  The latest nest of steps stays *open* until the next one
comes: what lies between the two is then dealt out by its dependences.  A copy that the next nest
needs and that the open one does not touch goes between the steps of the open one; one that needs
the open nest and that the next one does not touch goes between the steps of the next; what is tied
to both precedes the next nest's first use of it, or follows the open one's last.

A loop becomes a prologue (its first iterations, whose neighbours are others), a steady state and an
epilogue: the nest that an iteration leaves open is closed by the next one, so the loop of the
program runs from the middle of one iteration to the middle of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import NamedTuple

from ..device import DeviceConfig
from ..passes.errors import CodegenError
from ..passes.linear import Linear
from ..passes.transfers import LoopExtent
from ..program import Node
from .copies import CopyOperations
from .dealing import Copy
from .dependences import Touched, conflict
from .nests import CopyNest, Nest, StepNest, Values
from .operations import CopyOperation, LoopIds, nested
from .placement import Placer
from .report import (
    ALONE,
    BEFORE,
    BEHIND,
    IN_ORDER,
    IN_USE,
    LAST,
    NO_STEPS,
    NO_STEPS_BEFORE,
    NO_STEPS_BEHIND,
    NOT_STEADY,
    NoReport,
)
from .settings import DeviceSettings
from .statements import Branch, Repeat, Sequence, Statement
from .steps import Steps, array_setting

# Iterations of a loop before its steady state.
_PROLOGUE = 2


class _Waiting:
    """A copy that is to be placed, its operations made when they are."""

    def __init__(
        self, nest: CopyNest, touched: list[Touched], make: Callable[[], list[CopyOperation]]
    ) -> None:
        self.nest = nest
        self.touched = touched
        self._make = make

    @cached_property
    def operations(self) -> list[CopyOperation]:
        """In the order in which they are issued, with one loop for those that advance evenly."""
        return [operation.merged() for operation in self._make()]

    def rest(self, make: Callable[[], list[CopyOperation]]) -> _Waiting:
        """A part of it."""
        return _Waiting(self.nest, self.touched, make)

    def conflicts(self, others: Iterable[_Waiting]) -> bool:
        """Whether it may touch rows that one of the others does."""
        return any(conflict(self.touched, other.touched) for other in others)


class _Open(NamedTuple):
    """A nest of steps with the copies that go into it."""

    nest: StepNest
    values: Values
    touched: list[Touched]
    is_first: bool = False  # no steps come before
    due: tuple[_Waiting, ...] = ()
    free: tuple[_Waiting, ...] = ()
    # Behind the steps that they need: all of them, those that the next steps need too, whose rest
    # precedes these, and those that follow others.
    after: tuple[_Waiting, ...] = ()
    reloads: tuple[_Waiting, ...] = ()
    last: tuple[_Waiting, ...] = ()


class _State(NamedTuple):
    """Where the walk is: the open nest, and the copies behind it."""

    open: _Open | None = None
    behind: tuple[_Waiting, ...] = ()

    def signature(self) -> object:
        """What is open and waits, whatever the iteration."""
        waiting = [self.behind]
        if self.open is not None:
            waiting += [self.open.due, self.open.free]
        opened = None if self.open is None else id(self.open.nest)
        return opened, [[id(one.nest) for one in part] for part in waiting]


class Pipeline:
    """Walks statements and makes the program's nodes, in phases of the device's settings."""

    def __init__(
        self,
        copies: CopyOperations,
        settings: DeviceSettings,
        overwritten: set[Nest],
        config: DeviceConfig,
        ids: LoopIds,
        report: NoReport,
    ) -> None:
        self.report = report
        self.copies = copies
        self.settings = settings
        self.overwritten = overwritten
        self.config = config
        self.ids = ids
        self.state = _State()
        self.is_dry = False  # whether only the state matters that is left
        self._steady: dict[Repeat, bool] = {}
        self._cycles: dict[Nest, float] = {}

    def run(self, parts: Iterable[Statement]) -> tuple[Node, ...]:
        """The nodes of statements that follow each other, with nothing left open."""
        nodes: list[Node] = []
        self.state = _State()
        self.report.begin()
        for part in parts:
            nodes += self.statement(part, {})
        return (*nodes, *self.flush())

    def flush(self) -> tuple[Node, ...]:
        """What is open and what is behind it."""
        state, self.state = self.state, _State()
        if state.open is None:
            return self.plain(state.behind, ALONE, NO_STEPS)
        return self.close(_closed(state.open, state.behind), NO_STEPS_BEHIND)

    def statement(self, stmt: Statement, values: Values) -> tuple[Node, ...]:
        """The nodes that a statement brings about: of those before it, often."""
        while isinstance(stmt, Branch):
            holds = stmt.holds(values)
            stmt = stmt.whole if holds is None else stmt.then if holds else stmt.otherwise
        if isinstance(stmt, Sequence):
            return tuple([n for part in stmt.parts for n in self.statement(part, values)])
        if isinstance(stmt, CopyNest):
            if stmt not in self.overwritten:
                self.copy(stmt, values)
            return ()
        if isinstance(stmt, StepNest):
            return self.steps(stmt, values)
        if isinstance(stmt, Repeat):
            return self.loop(stmt, values)
        raise CodegenError(stmt.text)

    # ---- copies and steps ---------------------------------------------------------------

    def copy(self, nest: CopyNest, values: Values) -> None:
        """A copy waits for the steps behind it."""

        def make() -> list[CopyOperation]:
            inner = self.enter(nest, values)[1]
            return [
                operation
                for part, transfer in nest.transfers(inner, self.config)
                for operation in self.copies.of(part, transfer)
            ]

        waiting = _Waiting(nest, nest.touched(values), make)
        self.state = self.state._replace(behind=(*self.state.behind, waiting))

    def steps(self, nest: StepNest, values: Values) -> tuple[Node, ...]:
        """Steps are open until the next ones come; those before are closed."""
        before, after = self.state.open, _Open(nest, values, nest.touched(values))
        closed, stay, after = self.dealt_out(before, self.state.behind, after)
        if closed is not None and not self.state.behind:
            closed, after = self.shared(closed, after)
        self.state = _State(after)
        if closed is None:
            return self.plain(stay, BEFORE, NO_STEPS_BEFORE)
        return self.close(closed, IN_USE)

    def dealt_out(
        self, before: _Open | None, copies: Iterable[_Waiting], steps: _Open
    ) -> tuple[_Open | None, tuple[_Waiting, ...], _Open]:
        """The copies between two nests of steps, each with those that go into it, and, where there
        is no nest before, those that come first."""
        stay: list[_Waiting] = []
        due: list[_Waiting] = []
        free: list[_Waiting] = []
        for waiting in copies:
            is_needed = conflict(waiting.touched, steps.touched)
            is_tied = before is None or conflict(waiting.touched, before.touched)
            if is_needed and waiting.conflicts(free):  # what it follows has to be done with
                stay, free = stay + free, []
            if is_needed and waiting.conflicts(due):
                stay, due = stay + due, []
            if waiting.conflicts(due) or (is_needed and is_tied and waiting.nest.is_load):
                due.append(waiting)
            elif not is_needed:
                free.append(waiting)
            else:
                stay.append(waiting)
        if before is None:
            steps = steps._replace(is_first=True, due=tuple(due), free=tuple(free))
            return None, tuple(stay), steps
        closed = _closed(before, stay)
        kept = [*closed.free, *closed.after, *closed.last]
        # What is left of others may be told differently from one iteration to the next.
        reloads = tuple([w for w in due if w.nest.is_static and not w.conflicts(kept)])
        due = [w.rest(partial(self.rest, before, w)) if w in reloads else w for w in due]
        steps = steps._replace(due=tuple(due), free=tuple(free))
        return closed._replace(reloads=reloads), (), steps

    def shared(self, first: _Open, second: _Open) -> tuple[_Open, _Open]:
        """Two nests of steps with nothing between them share the copies that go into the first: the
        second takes those of its share, the last ones, that it does not touch either."""
        mine, all_steps = self.step_cycles(first), self.step_cycles(first, second)
        left = sum(map(self.copy_cycles, first.free)) * mine / all_steps
        keep = 0
        for index, waiting in enumerate(first.free):
            if left > 0 or conflict(waiting.touched, second.touched):
                keep = index + 1
            left -= self.copy_cycles(waiting)
        moved = (*first.free[keep:], *second.free)
        return first._replace(free=first.free[:keep]), second._replace(free=moved)

    def copy_cycles(self, waiting: _Waiting) -> float:
        """About how long a copy keeps its engine: as long as in the first iteration."""
        if waiting.nest not in self._cycles:
            operations = waiting.operations
            self._cycles[waiting.nest] = sum(x.number * x.cycles for x in operations)
        return self._cycles[waiting.nest]

    def step_cycles(self, *opened: _Open) -> float:
        """How long the steps of nests keep the array."""
        for one in opened:
            if one.nest not in self._cycles:
                self._cycles[one.nest] = self.placer(one).steps.cycles
        return sum(self._cycles[one.nest] for one in opened)

    def rest(self, opened: _Open, waiting: _Waiting) -> list[CopyOperation]:
        """What has to follow the last steps of a nest of a copy that the next steps need too."""
        placer = self.placer(opened)
        rest = [placer.rest(copy) for copy in _copies([waiting])]
        return [operation for operation in rest if operation is not None]

    def close(self, opened: _Open, behind: str) -> tuple[Node, ...]:
        """The nodes of a nest of steps with its copies; ``behind`` is why some stay behind it."""
        if self.is_dry:
            return ()
        self.report.nest(opened.nest, NO_STEPS_BEFORE if opened.is_first else IN_USE, behind)
        placer = self.placer(opened)
        settings = self.settings.other(array_setting(placer.steps.step.row_step))
        before, free = _in_order(opened.free)
        reloads = [
            copy._replace(leaves_rest=True, is_own=False) for copy in _copies(opened.reloads)
        ]
        nodes = placer.place(_copies(opened.due), free, [*_copies(opened.after), *reloads])
        first, last = self.plain(before, BEFORE, IN_ORDER), self.plain(opened.last, BEHIND, LAST)
        self.report.nest(None, "", "")
        return (*first, *settings, *nodes, *last)

    def placer(self, opened: _Open) -> Placer:
        """Places copies in the steps of a nest."""
        loops, inner = self.enter(opened.nest, opened.values)
        overwrites = opened.nest in self.overwritten
        steps = Steps(opened.nest.step(inner), loops, overwrites, self.config)
        return Placer(steps, opened.touched, self.config, self.ids, self.report)

    def plain(self, copies: Iterable[_Waiting], place: str, reason: str) -> tuple[Node, ...]:
        """Copies one after the other: where they are, and why not between steps."""
        if self.is_dry:
            return ()
        operations = [operation for waiting in copies for operation in waiting.operations]
        for operation in operations:
            self.report.copy(operation, place, reason)
        return tuple([node for operation in operations for node in operation.nodes()])

    def enter(self, nest: Nest, values: Values) -> tuple[tuple[LoopExtent, ...], dict[int, Linear]]:
        """Loops of a nest under ids of their own, and the values of symbols inside."""
        loops = tuple([self.ids.loop(loop.extent) for loop in nest.loops])
        inner = dict(values)
        for symbol, loop in zip(nest.loops, loops, strict=True):
            inner[symbol.loop_id] = Linear.loop(loop.loop_id)
        return loops, inner

    # ---- loops --------------------------------------------------------------------------

    def loop(self, stmt: Repeat, values: Values) -> tuple[Node, ...]:
        """A loop.  Where buffers alternate (``i % 2``), its body is repeated so that every operand
        advances by additions: general expressions cost the host time."""

        def body(index: Linear) -> tuple[Node, ...]:
            return self.statement(stmt.body, {**values, stmt.symbol: index + stmt.start})

        def alone(index: Linear) -> tuple[Node, ...]:
            return (*body(index), *self.flush())

        if not _has_steps(stmt.body) or not self.is_steady(stmt, body):
            self.report.enter(1, NOT_STEADY.format(stmt.name) if _has_steps(stmt.body) else "")
            nodes = [*self.flush(), *self.steady(stmt, alone, 0)]
            self.report.leave()
            return tuple(nodes)
        if self.is_dry:
            for index in range(max(0, stmt.extent - _PROLOGUE), stmt.extent):
                body(Linear(index))
            return ()
        nodes = []
        for index in range(min(stmt.extent, _PROLOGUE)):
            nodes += body(Linear(index))
        return (*nodes, *self.steady(stmt, body, _PROLOGUE))

    def is_steady(self, stmt: Repeat, body: Callable[[Linear], tuple[Node, ...]]) -> bool:
        """Whether all iterations of a loop from the `_PROLOGUE`-th on leave the same open."""
        if (stmt.extent - _PROLOGUE) // stmt.period <= 1:
            return True  # there is no loop
        if stmt not in self._steady:
            before = self.state
            repeated = (stmt.extent - _PROLOGUE) // stmt.period
            loop = Linear.loop(self.ids.loop(repeated).loop_id) * stmt.period + _PROLOGUE
            found = []
            for index in (loop, Linear(_PROLOGUE), Linear(stmt.extent)):
                self.settle(body, index)
                found.append(self.state.signature())
            self.state = before
            self._steady[stmt] = found[0] == found[1] == found[2]
        return self._steady[stmt]

    def steady(
        self, stmt: Repeat, body: Callable[[Linear], tuple[Node, ...]], first: int
    ) -> tuple[Node, ...]:
        """The iterations of a loop from the ``first`` on, most of them as a loop."""
        nodes: list[Node] = []
        repeated = (stmt.extent - first) // stmt.period
        if repeated > 1:
            loop = self.ids.loop(repeated)
            index = Linear.loop(loop.loop_id) * stmt.period + first
            if first:
                self.settle(body, index)
            phases: list[Node] = []
            self.report.enter(repeated)
            for phase in range(stmt.period):
                phases += body(index + phase)
            self.report.leave()
            nodes += nested((loop,), tuple(phases))
            first += repeated * stmt.period
            if first:
                self.settle(body, Linear(first))
        for rest in range(first, stmt.extent):
            nodes += body(Linear(rest))
        return tuple(nodes)

    def settle(self, body: Callable[[Linear], tuple[Node, ...]], index: Linear) -> None:
        """Put the walk where it is before an iteration that others precede."""
        outer, self.is_dry = self.is_dry, True
        try:
            self.state = _State()
            for before in range(_PROLOGUE, 0, -1):
                body(index - before)
        finally:  # a phase that needs too many settings is made again
            self.is_dry = outer


def _closed(steps: _Open, copies: Iterable[_Waiting]) -> _Open:
    """A nest of steps with copies behind it that come before all others: between its steps where
    these do not touch the same rows, else behind those that do."""
    ahead: list[_Waiting] = []
    after: list[_Waiting] = []
    last: list[_Waiting] = []
    for waiting in copies:
        if waiting.conflicts([*steps.free, *ahead, *after, *last]):
            last.append(waiting)
        elif conflict(waiting.touched, steps.touched):
            after.append(waiting)
        else:
            ahead.append(waiting)
    free = (*steps.free, *ahead)
    return steps._replace(free=free, after=tuple(after), last=tuple(last))


def _in_order(copies: Iterable[_Waiting]) -> tuple[list[_Waiting], list[Copy]]:
    """Copies that may go anywhere but for their order: those that come before all steps, since
    others that others follow have to follow them, and the rest."""
    copies = list(copies)
    depth: dict[int, int] = {}
    for index, waiting in enumerate(copies):
        before = [i for i in range(index) if waiting.conflicts([copies[i]])]
        depth[index] = max([depth[i] + 1 for i in before], default=0)
    if max(depth.values(), default=0) > 1:
        return copies, []
    found = []
    for index, waiting in enumerate(copies):
        followed = any(copies[i].conflicts([waiting]) for i in range(index + 1, len(copies)))
        for operation in waiting.operations:
            copy = Copy(
                operation,
                waiting.touched,
                followed,
                depth[index] > 0,
                is_own=False,
                is_divisible=operation.is_divisible,
            )
            found.append(copy)
    return [], found


def _copies(waiting: Iterable[_Waiting]) -> list[Copy]:
    return [
        Copy(operation, one.touched, is_divisible=operation.is_divisible)
        for one in waiting
        for operation in one.operations
    ]


def _has_steps(stmt: Statement) -> bool:
    if isinstance(stmt, Sequence):
        return any(_has_steps(part) for part in stmt.parts)
    if isinstance(stmt, Branch):
        return _has_steps(stmt.then) or _has_steps(stmt.otherwise)
    return isinstance(stmt, StepNest) or (isinstance(stmt, Repeat) and _has_steps(stmt.body))
