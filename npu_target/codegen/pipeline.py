"""Software pipelining: the statements of a function as a stream of steps with copies around them.

The statements are walked in their order.  The latest nest of steps stays *open* until the next one
comes: what lies between the two is then distributed by its dependences
(:mod:`npu_target.codegen.waiting`).

A loop becomes a prologue (its first iterations, whose neighbours are others), a steady state and an
epilogue: the nest that an iteration leaves open is closed by the next one, so the loop of the
program runs from the middle of one iteration to the middle of the next.  Two iterations are enough
for a prologue, one where it leaves open what all others do, as those do that are loops themselves;
it takes more where steps hand on copies from before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from ..passes.linear import Linear
from .nests import StepNest, Values
from .placed import Placed, PlacedLoop
from .report import (
    ALONE,
    BEFORE,
    IN_USE,
    NO_STEPS,
    NO_STEPS_BEFORE,
    NO_STEPS_BEHIND,
    NOT_STEADY,
)
from .statements import Branch, Repeat, Sequence, Statement
from .waiting import Open, Waiting, closed, deferred, distributed, relieved, shared
from .walk import Walk

# Iterations of a loop before its steady state, unless they hand on copies from before the loop.
_PROLOGUE = 2


class _State(NamedTuple):
    """Where the walk is: the open nest, and the copies behind it."""

    open: Open | None = None
    behind: tuple[Waiting, ...] = ()

    @property
    def waiting(self) -> list[tuple[Waiting, ...]]:
        """All copies, by where they are."""
        opened = self.open
        return [self.behind, *((opened.due, opened.free, opened.held) if opened else ())]

    def signature(self) -> object:
        """What is open and waits, whatever the iteration."""
        opened = None if self.open is None else (id(self.open.nest), self.open.is_first)
        return opened, [[id(one.nest) for one in part] for part in self.waiting]

    def origins(self, inner: Values) -> object:
        """What that is of, in which iterations, where loops have these values."""
        copies = [one for part in self.waiting for one in part]
        return [
            one and (id(one.nest), {key: x.substitute(inner) for key, x in one.values.items()})
            for one in (self.open, *copies, *[copy.beside for copy in copies])
        ]


class Pipeline(Walk):
    """Leaves the latest nest of steps open, with the copies behind it, until the next one comes."""

    state = _State()
    is_dry = False  # whether only the state matters that is left

    @cached_property
    def _steady(self) -> dict[Repeat, bool]:
        """Of loops, whether they are."""
        return {}

    def run(self, parts: Iterable[Statement]) -> tuple[Placed, ...]:
        """Statements that follow each other, with nothing left open."""
        placed: list[Placed] = []
        self.state = _State()
        self.begin()
        for part in parts:
            placed += self.statement(part, {})
        return (*placed, *self.flush())

    def flush(self) -> tuple[Placed, ...]:
        """What is open and what is behind it."""
        state, self.state = self.state, _State()
        if state.open is None:
            return self.plain(state.behind, ALONE, NO_STEPS)
        return self.close(closed(state.open, state.behind), NO_STEPS_BEHIND)

    # ---- copies and steps ---------------------------------------------------------------

    def copy(self, waiting: Waiting) -> tuple[Placed, ...]:
        """A copy waits for the steps behind it."""
        opened, behind = self.state
        self.state = _State(opened, (*behind, waiting))
        return ()

    def steps(self, nest: StepNest, values: Values) -> tuple[Placed, ...]:
        """Steps are open until the next ones come; those before are closed."""
        before, after = self.state.open, Open(nest, values, nest.touched(values))
        before, stay, after = distributed(before, self.state.behind, after, self.emitter.rest)
        if before is not None and not self.state.behind:
            cycles = self.emitter.step_cycles, self.emitter.copy_cycles
            before, after = shared(before, after, *cycles)
        if before is not None and before.is_first and not self.is_dry:
            before, after = deferred(before, after)
            if not after.took_over and any(one.nest.orders_ends for one in before.due):
                excess = self.emitter.memory_cycles(before) - self.emitter.step_cycles(before)
                before, after = relieved(before, after, excess, self.emitter.late_part)
        self.state = _State(after)
        if before is None:
            return self.plain(stay, BEFORE, NO_STEPS_BEFORE)
        return self.close(before, IN_USE)

    def close(self, opened: Open, behind: str) -> tuple[Placed, ...]:
        """A nest of steps with its copies; ``behind`` is why some stay behind it."""
        return () if self.is_dry else self.emitter.nest(opened, behind)

    def plain(self, copies: Iterable[Waiting], place: str, reason: str) -> tuple[Placed, ...]:
        """Copies one after the other: where they are, and why not between steps."""
        return () if self.is_dry else self.emitter.plain(copies, place, reason)

    # ---- loops --------------------------------------------------------------------------

    def loop(self, stmt: Repeat, values: Values) -> tuple[Placed, ...]:
        """A loop.  Where buffers alternate (``i % 2``), its body is repeated so that every operand
        advances by additions: general expressions cost the host time."""

        def body(index: Linear) -> tuple[Placed, ...]:
            return self.statement(stmt.body, {**values, stmt.symbol: index + stmt.start})

        def alone(index: Linear) -> tuple[Placed, ...]:
            return (*body(index), *self.flush())

        # Steps under a condition that does not hold leave open what is before them, not their own.
        has_steps = _has_steps(stmt.body, values)
        if not has_steps or not self.is_steady(stmt, body):
            self.report.enter(1, NOT_STEADY.format(stmt.name) if has_steps else "")
            placed = [*self.flush(), *self.steady(stmt, alone, 0)]
            self.report.leave()
            return tuple(placed)
        if self.is_dry:
            before = self.state
            # Of iterations that conditions tell apart the last ones may have no steps.
            last = stmt.extent if stmt.symbol in _conditions(stmt.body) else _PROLOGUE
            for number in range(min(last, stmt.extent), stmt.extent + 1):
                self.state = before
                for index in range(stmt.extent - number, stmt.extent):
                    body(Linear(index))
                if not self._holds_others(stmt):
                    break
            return ()
        placed = []
        first = 0
        while first < stmt.extent and not self._may_begin(stmt, body, first):
            placed += body(Linear(first))
            first += 1
        return (*placed, *self.steady(stmt, body, first))

    def _may_begin(
        self, stmt: Repeat, body: Callable[[Linear], tuple[Placed, ...]], first: int
    ) -> bool:
        """Whether the steady state of a loop may begin with the ``first``-th iteration, before
        which the walk is: what is left is that of the iteration before, and what others leave."""
        if first == 0 or (self.state.open is not None and self.state.open.took_over):
            return False  # what is open has copies that it would not have in another iteration
        if first >= _PROLOGUE or not _becomes_loop(stmt):
            return first >= _PROLOGUE and not self._holds_others(stmt)
        if _alone(stmt, first) >= _alone(stmt, _PROLOGUE):
            return False
        left = self.state
        if self._left_before(body, Linear(stmt.extent)).signature() != left.signature():
            return False
        loop, index = self._looping(stmt, first)
        other = self._left_before(body, index)
        is_same = other.signature() == left.signature()
        return is_same and other.origins({loop: Linear()}) == left.origins({})

    def _holds_others(self, stmt: Repeat) -> bool:
        """Whether copies wait that are from before a loop: steps with nothing between them hand on
        some of theirs, which other iterations do not have."""
        return any(stmt.symbol not in one.values for part in self.state.waiting for one in part)

    def _looping(self, stmt: Repeat, first: int) -> tuple[int, Linear]:
        """A loop over the iterations of a loop from the ``first`` on, and which one is its
        variable's."""
        loop = self.ids.loop((stmt.extent - first) // stmt.period).loop_id
        return loop, Linear.loop(loop) * stmt.period + first

    def _left_before(self, body: Callable[[Linear], tuple[Placed, ...]], index: Linear) -> _State:
        """What is open and waits before an iteration that others precede."""
        before = self.state
        self.settle(body, index)
        left, self.state = self.state, before
        return left

    def is_steady(self, stmt: Repeat, body: Callable[[Linear], tuple[Placed, ...]]) -> bool:
        """Whether all iterations of a loop from the `_PROLOGUE`-th on leave the same open."""
        if not _becomes_loop(stmt):
            return True
        found = self._steady.get(stmt)
        if found is None:
            indices = self._looping(stmt, _PROLOGUE)[1], Linear(_PROLOGUE), Linear(stmt.extent)
            any_other, first, last = (self._left_before(body, x).signature() for x in indices)
            found = any_other == first == last
            if not _conditions(stmt.body):  # in other iterations of loops around as well
                self._steady[stmt] = found
        return found

    def steady(
        self, stmt: Repeat, body: Callable[[Linear], tuple[Placed, ...]], first: int
    ) -> tuple[Placed, ...]:
        """The iterations of a loop from the ``first`` on, most of them as a loop."""
        placed: list[Placed] = []
        repeated = (stmt.extent - first) // stmt.period
        if repeated > 1:
            loop = self.ids.loop(repeated)
            index = Linear.loop(loop.loop_id) * stmt.period + first
            if first:
                self.settle(body, index)
            phases: list[Placed] = []
            self.report.enter(repeated)
            for phase in range(stmt.period):
                phases += body(index + phase)
            self.report.leave()
            placed.append(PlacedLoop(loop, tuple(phases)))
            first += repeated * stmt.period
            if first:
                self.settle(body, Linear(first))
        for rest in range(first, stmt.extent):
            placed += body(Linear(rest))
        return tuple(placed)

    def settle(self, body: Callable[[Linear], tuple[Placed, ...]], index: Linear) -> None:
        """Put the walk where it is before an iteration that others precede."""
        outer, self.is_dry = self.is_dry, True
        try:
            self.state = _State()
            for before in range(_PROLOGUE, 0, -1):
                body(index - before)
        finally:  # a phase that needs too many settings is made again
            self.is_dry = outer


def _becomes_loop(stmt: Repeat) -> bool:
    """Whether some iterations are a loop of the program; of few, each is better by itself."""
    return (stmt.extent - _PROLOGUE) // stmt.period > 1


def _alone(stmt: Repeat, first: int) -> int:
    """Iterations by themselves of a loop whose steady state begins with the ``first``."""
    return first + (stmt.extent - first) % stmt.period


def _conditions(stmt: Statement) -> set[int]:
    """The loops on which conditions in a statement depend."""
    if isinstance(stmt, Sequence):
        return set().union(*map(_conditions, stmt.parts))
    if isinstance(stmt, Branch):
        loops = {symbol for symbol in stmt.symbols if isinstance(symbol, int)}
        return loops | _conditions(stmt.then) | _conditions(stmt.otherwise)
    return _conditions(stmt.body) if isinstance(stmt, Repeat) else set()


def _has_steps(stmt: Statement, values: Values) -> bool:
    """Whether there are steps in a statement, where these are the values of the loops around."""
    if isinstance(stmt, Sequence):
        return any(_has_steps(part, values) for part in stmt.parts)
    if isinstance(stmt, Branch):
        holds = stmt.holds(values)
        cases = [stmt.then] * (holds is not False) + [stmt.otherwise] * (holds is not True)
        return any(_has_steps(case, values) for case in cases)
    return isinstance(stmt, StepNest) or (
        isinstance(stmt, Repeat) and _has_steps(stmt.body, values)
    )
