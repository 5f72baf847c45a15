"""What waits between two nests of steps: copies, distributed by their dependences.

A copy that the next nest needs and that the open one does not touch goes between the steps of the
open one; one that needs the open nest and that the next one does not touch goes between the steps
of the next; what is tied to both precedes the next nest's first use of it, or follows the open
one's last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import NamedTuple

from .dependences import Touched, conflict
from .nests import CopyNest, StepNest, Values
from .operations import CopyOperation
from .parts import Copy


class Waiting:
    """A copy that is to be placed, its operations made when they are.

    values : of the loops around.
    by_steps : whether the engine of the steps does it.
    beside : the nest of steps that decides which part of a copy it is; None of a whole one.
    """

    def __init__(
        self,
        nest: CopyNest,
        values: Values,
        touched: list[Touched],
        make: Callable[[], list[CopyOperation]],
        *,
        by_steps: bool = False,
        beside: Open | None = None,
    ) -> None:
        self.nest = nest
        self.values = values
        self.touched = touched
        self.by_steps = by_steps
        self.beside = beside
        self._make = make

    @cached_property
    def operations(self) -> list[CopyOperation]:
        """In the order in which they are issued."""
        return self._make()

    def rest(self, make: Callable[[], list[CopyOperation]], beside: Open) -> Waiting:
        """A part of it, that the steps of a nest decide."""
        others = self.nest, self.values, self.touched
        return Waiting(*others, make, by_steps=self.by_steps, beside=beside)

    def conflicts(self, others: Iterable[Waiting]) -> bool:
        """Whether it may touch rows that one of the others does."""
        return any(conflict(self.touched, other.touched) for other in others)


class Open(NamedTuple):
    """A nest of steps with the copies that go into it."""

    nest: StepNest
    values: Values
    touched: list[Touched]
    is_first: bool = False  # no steps come before
    took_over: bool = False  # loads that went between the steps before
    due: tuple[Waiting, ...] = ()
    free: tuple[Waiting, ...] = ()
    # Behind the steps that they need: all of them, those that the next steps need too, whose rest
    # precedes these, and those that follow others.
    after: tuple[Waiting, ...] = ()
    reloads: tuple[Waiting, ...] = ()
    last: tuple[Waiting, ...] = ()
    # Behind all steps and what goes between them, since they keep the steps from going on.
    held: tuple[Waiting, ...] = ()


def distributed(
    before: Open | None,
    copies: Iterable[Waiting],
    steps: Open,
    rest: Callable[[Open, Waiting], list[CopyOperation]],
) -> tuple[Open | None, tuple[Waiting, ...], Open]:
    """The copies between two nests of steps, each with those that go into it, and, where there
    is no nest before, those that come first.  ``rest`` makes what has to follow the last steps of
    a nest of a copy that the next steps need too."""
    stay: list[Waiting] = []
    due: list[Waiting] = []
    free: list[Waiting] = []
    held: list[Waiting] = []
    for waiting in copies:
        is_needed = conflict(waiting.touched, steps.touched)
        is_tied = before is None or conflict(waiting.touched, before.touched)
        precedes = is_needed or waiting.conflicts(due)
        if precedes and waiting.conflicts([*free, *held]):  # what it follows has to be done with
            stay, free, held = stay + free + held, [], []
        if is_needed and waiting.conflicts(due):
            stay, due = stay + due, []
        if waiting.conflicts(due) or (is_needed and is_tied and waiting.nest.is_load):
            due.append(waiting)
        elif not precedes:
            (held if waiting.by_steps or waiting.conflicts(held) else free).append(waiting)
        else:
            stay.append(waiting)
    if before is None:
        steps = steps._replace(is_first=True, due=tuple(due), free=tuple(free), held=tuple(held))
        return None, tuple(stay), steps
    before = closed(before, stay)
    others = [*due, *free, *held, *before.free, *before.held, *before.last]
    # What is left of others may be told differently from one iteration to the next.
    tied = [w for w in before.after if w.nest.is_static and conflict(w.touched, steps.touched)]
    stores = [w for w in tied if not w.conflicts(others)]
    after = tuple([w for w in before.after if w not in stores])
    kept = [*before.free, *after, *before.held, *before.last]
    reloads = [w for w in due if w.nest.is_static and not w.conflicts(kept)]
    shared = (*reloads, *stores)
    due = [w.rest(partial(rest, before, w), before) if w in shared else w for w in (*stores, *due)]
    steps = steps._replace(due=tuple(due), free=tuple(free), held=tuple(held))
    return before._replace(after=after, reloads=shared), (), steps


def closed(steps: Open, copies: Iterable[Waiting]) -> Open:
    """A nest of steps with copies behind it that come before all others: between its steps where
    these do not touch the same rows, else behind those that do."""
    ahead: list[Waiting] = []
    after: list[Waiting] = []
    last: list[Waiting] = []
    for waiting in copies:
        if waiting.conflicts([*steps.free, *steps.held, *ahead, *after, *last]):
            last.append(waiting)
        elif conflict(waiting.touched, steps.touched):
            after.append(waiting)
        else:
            ahead.append(waiting)
    free = (*steps.free, *ahead)
    return steps._replace(free=free, after=tuple(after), last=tuple(last))


def shared(
    first: Open,
    second: Open,
    step_cycles: Callable[[Open], float],
    copy_cycles: Callable[[Waiting], float],
) -> tuple[Open, Open]:
    """Two nests of steps with nothing between them share the copies that go into the first: the
    second takes those of its share, the last ones, that it does not touch either."""
    mine = step_cycles(first)
    all_steps = mine + step_cycles(second)
    left = sum(map(copy_cycles, first.free)) * mine / all_steps
    keep = 0
    for index, waiting in enumerate(first.free):
        if left > 0 or conflict(waiting.touched, second.touched):
            keep = index + 1
        left -= copy_cycles(waiting)
    moved = (*first.free[keep:], *second.free)
    return first._replace(free=first.free[:keep]), second._replace(free=moved)


def deferred(first: Open, second: Open) -> tuple[Open, Open]:
    """The first two nests of steps, where the first loads an operand that stays: what is to be
    loaded meanwhile for the second is left to it, which loads it just before it is needed, as the
    memory has enough to do before."""
    if not any(waiting.nest.is_halved for waiting in first.due):
        return first, second
    moved = []
    for index, waiting in enumerate(first.free):
        others = (*first.free[:index], *first.free[index + 1 :], *first.after, *first.held)
        others = (*others, *first.last, *first.reloads, *second.due)
        is_needed = waiting.nest.is_load and conflict(waiting.touched, second.touched)
        if is_needed and not waiting.conflicts(others):
            moved.append(waiting)
    free = tuple([waiting for waiting in first.free if waiting not in moved])
    second = second._replace(due=(*moved, *second.due), took_over=bool(moved))
    return first._replace(free=free), second


def relieved(
    first: Open,
    second: Open,
    excess: float,
    parts: Callable[[Open, Waiting, float], tuple[Waiting, Waiting, float] | None],
) -> tuple[Open, Open]:
    """The first two nests of steps, where the memory has so many cycles more to do for them than
    the first takes: what the second needs late is left to it.  ``parts`` cuts a copy in what
    remains and what is left to the second, of so many cycles at most."""
    free = list(first.free)
    moved: list[Waiting] = []
    for index in range(len(free) - 1, -1, -1):
        waiting = free[index]
        others = (*free[:index], *free[index + 1 :], *first.after, *first.held)
        others = (*others, *first.last, *first.reloads, *second.due)
        is_needed = waiting.nest.is_load and conflict(waiting.touched, second.touched)
        if excess <= 0 or not is_needed or waiting.conflicts(others):
            continue
        found = parts(second, waiting, excess)
        if found is not None:
            free[index], left, cycles = found
            moved.append(left)
            excess -= cycles
    second = second._replace(due=(*reversed(moved), *second.due), took_over=bool(moved))
    return first._replace(free=tuple(free)), second


def in_order(copies: Iterable[Waiting]) -> tuple[list[Waiting], list[Copy]]:
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
