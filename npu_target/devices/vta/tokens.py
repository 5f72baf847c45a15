"""Tokens: where an engine waits for another, told from the tiles that both touch.

A wait is a token that one engine gives behind the last command that matters, and another takes
before the first command that needs it: no-ops, here, a LOAD or STORE of no rows.  Tokens between
two engines are counted, not named, so those of one queue have to be taken in the order in which
they are given, and as often in every run.  Both are put into one straight line of commands: where
what is needed lies in a loop, behind that loop; where it lies before the loop in which it is
needed, the loop as a whole waits; and what an iteration needs of the one before is given at its
start, for all that went before.

What a STORE needs it waits for by itself: `copies.StoreRows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...codegen.dependences import Touched
from ...codegen.operations import Engine
from ...codegen.placed import Placed, PlacedLoop, PlacedNodes
from ...passes.linear import Linear
from ...passes.memory import Placement
from ...passes.transfers import LoopExtent
from ...program import Command, Node, device_command
from . import isa

# Before the first work of a list.
_START = -1


class Work(NamedTuple):
    """Commands of an engine that touch tiles; or a loop around others, of no engine."""

    engine: Engine | None = None
    nodes: tuple[Node, ...] = ()
    touched: tuple[Touched, ...] = ()
    loop: LoopExtent | None = None
    body: tuple[Work, ...] = ()


class _Queue(NamedTuple):
    """Tokens from one engine to another, and the commands that give and take one."""

    giver: Engine
    taker: Engine
    give: Command
    take: Command


_QUEUES = (
    _Queue(
        Engine.LOAD,
        Engine.EXECUTE,
        device_command(isa.Load, memory=isa.INP, push_next=True),
        device_command(isa.Load, memory=isa.UOP, pop_prev=True),
    ),
    _Queue(
        Engine.EXECUTE,
        Engine.LOAD,
        device_command(isa.Load, memory=isa.UOP, push_prev=True),
        device_command(isa.Load, memory=isa.INP, pop_next=True),
    ),
    _Queue(
        Engine.STORE,
        Engine.EXECUTE,
        device_command(isa.Store, memory=isa.OUT, push_prev=True),
        device_command(isa.Load, memory=isa.UOP, pop_next=True),
    ),
)


class _Rows(NamedTuple):
    """A version of a tile, any where that is None."""

    tile: Placement
    version: Linear | None

    def conflicts(self, other: Touched) -> bool:
        """Whether both may touch the same rows."""
        if self.version is None:
            return self.tile.overlaps(other.tile)
        return Touched(self.tile, self.version).conflicts(other)

    def outside(self, loop: LoopExtent) -> _Rows:
        """The same where the loop's variable has any other value."""
        depends = self.version is not None and self.version.depends_on(loop.loop_id)
        return _Rows(self.tile, None) if depends else self


# By queue: what its giver did since the last token, and behind which of a list's works.
_Pending = dict[_Queue, dict[_Rows, int]]


def ordered(works: Sequence[Work]) -> tuple[Placed, ...]:
    """The works with tokens, at the end of which all engines are waited for."""
    line = _Line({queue: {} for queue in _QUEUES})
    for work in works:
        line.add(work)
    for queue in _QUEUES:
        if queue.taker is Engine.EXECUTE and line.pending[queue]:
            line.wait(queue, len(works) - 1, len(works))
    return line.placed()


class _Line:
    """Works one after the other, with the tokens between them.

    pending : at the start, what iterations before have done.
    """

    def __init__(self, pending: _Pending) -> None:
        self.pending = {queue: dict(rows) for queue, rows in pending.items()}
        self._works: list[Placed] = []
        self._behind: dict[int, list[Node]] = {}
        self._before: dict[int, list[Node]] = {}
        # By queue: the last work that has tokens of it inside.
        self._inner: dict[_Queue, int] = {}
        self.queues: set[_Queue] = set()

    def add(self, work: Work) -> None:
        """The next work."""
        index = len(self._works)
        for queue in _QUEUES:
            taken = [t for part in _leaves(work) if _takes(part, queue) for t in part.touched]
            found = [
                place
                for rows, place in self.pending[queue].items()
                if any(rows.conflicts(touched) for touched in taken)
            ]
            if found:
                self.wait(queue, max(found), index)
        if work.loop is None:
            self._works.append(PlacedNodes(work.nodes))
            given = {_Rows(*touched): index for touched in work.touched}
            for queue in _QUEUES:
                if queue.giver is work.engine:
                    self.pending[queue].update(given)
            return
        inner = _steady(work)
        self._works.append(PlacedLoop(work.loop, inner.placed()))
        for queue in inner.queues:
            self._inner[queue] = index
        self.queues |= inner.queues
        for queue, rows in inner.pending.items():
            self.pending[queue].update({one.outside(work.loop): index for one in rows})

    def wait(self, queue: _Queue, last: int, index: int) -> None:
        """The taker waits, before the work of an index, for all up to that of another."""
        last = max(last, self._inner.get(queue, _START))
        self._behind.setdefault(last, []).append(queue.give)
        self._before.setdefault(index, []).append(queue.take)
        self.queues.add(queue)
        left = {rows: place for rows, place in self.pending[queue].items() if place > last}
        self.pending[queue] = left

    def placed(self) -> tuple[Placed, ...]:
        """The works with their tokens."""
        found: list[Placed] = []
        for index in range(_START, len(self._works) + 1):
            nodes = self._before.get(index, [])
            if nodes:
                found.append(PlacedNodes(tuple(nodes)))
            if 0 <= index < len(self._works):
                found.append(self._works[index])
            nodes = self._behind.get(index, [])
            if nodes:
                found.append(PlacedNodes(tuple(nodes)))
        return tuple(found)


def _steady(work: Work) -> _Line:
    """A loop's body, before any iteration of which may be what others leave."""
    assert work.loop is not None
    carried: _Pending = {queue: {} for queue in _QUEUES}
    while True:
        line = _Line(carried)
        for part in work.body:
            line.add(part)
        left = {
            queue: {one.outside(work.loop): _START for one in rows}
            for queue, rows in line.pending.items()
        }
        merged = {queue: {**carried[queue], **left[queue]} for queue in _QUEUES}
        if merged == carried:
            return line
        carried = merged


def _leaves(work: Work) -> list[Work]:
    if work.loop is None:
        return [work]
    return [leaf for part in work.body for leaf in _leaves(part)]


def _takes(work: Work, queue: _Queue) -> bool:
    """Whether a work waits for tokens of a queue. A STORE's ALU commands follow steps that do."""
    return work.engine is queue.taker
