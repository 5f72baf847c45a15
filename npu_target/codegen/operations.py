"""Operations: what one engine of the device does, before it is words.

A copy operation is one command in loops of its own, with the rows of the device's memories and the
bytes of DRAM that it touches as affine forms over those loops and over the loops around it.  Loops
of an operation can be cut, since its iterations touch rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache, reduce
from math import inf, prod
from typing import NamedTuple, Protocol

import numpy as np

from ..device import Memory
from ..passes.linear import Atom, Linear
from ..passes.transfers import LoopExtent
from ..program import Loop, Node, Operand, expr
from ..program.expr import Expr
from ..topi.blocking import ceil_div
from .operands import to_expr, to_operand
from .row_pattern import RowPattern

_new = tuple.__new__  # of what there are many: their own takes twice as long

# The loop that a condition is: no path has two of them, and no other loop has its id.
CONDITION_LOOP = 0


class LoopIds:
    """Loops of a program under ids of their own."""

    def __init__(self) -> None:
        self._extents: dict[int, int] = {}

    def loop(self, extent: int) -> LoopExtent:
        """A loop that no other one is called like."""
        loop_id = CONDITION_LOOP + 1 + len(self._extents)
        self._extents[loop_id] = extent
        return _new(LoopExtent, (loop_id, extent, ""))

    def like(self, loops: Sequence[LoopExtent]) -> tuple[LoopExtent, ...]:
        """Loops of these extents, each as `loop` makes it."""
        return tuple([self.loop(loop.extent) for loop in loops])

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._extents)

    def since(self, number: int) -> tuple[LoopExtent, ...]:
        """Those that were made when there were so many, and later."""
        made = list(self._extents.items())[number:]
        return tuple([LoopExtent(loop_id, extent) for loop_id, extent in made])

    def bounds(self, form: Linear, loops: Sequence[LoopExtent] = ()) -> tuple[float, float]:
        """The least and the greatest value of a form, in loops that have other extents than they
        were made with."""
        least: float = form.const
        greatest = least
        for key, factor in form.items:
            extent = None if type(key) is Atom else self._extents.get(key)  # type: ignore[arg-type]
            for loop in loops:
                if loop.loop_id == key:
                    extent = loop.extent
            if extent is None:
                return -inf, inf
            reach = factor * (extent - 1)
            if reach > 0:
                greatest += reach
            else:
                least += reach
        return least, greatest


class Engine(Enum):
    """A part of the device with a queue of its own, whose commands run in their order."""

    LOAD = "load"
    EXECUTE = "execute"
    STORE = "store"


class Guard(NamedTuple):
    """A condition: all forms are >= 0, or, ``negated``, not all of them."""

    forms: tuple[Linear, ...]
    negated: bool = False

    def substitute(self, values: Mapping[int, Linear]) -> Guard:
        """The condition where loops have these values."""
        return _new(Guard, (tuple([form.substitute(values) for form in self.forms]), self.negated))

    @property
    def may_hold(self) -> bool:
        """Whether it does, or is not known."""
        if all(form.is_const and form.const >= 0 for form in self.forms):
            return not self.negated
        return self.negated or not any(form.is_const and form.const < 0 for form in self.forms)

    def expression(self) -> Expr:
        """As the host evaluates it."""
        found = []
        left = list(self.forms)
        while left:
            form = left.pop(0)
            if left and [abs(factor) for _, factor in form.items] == [1]:
                opposite = form * -1
                if opposite in left:
                    left.remove(opposite)
                    found.append(_compared(expr.eq, form))
                    continue
            found.append(_compared(expr.le, form))
        condition = _all_of(found)
        return expr.logical_not(condition) if self.negated else condition


def _all_of(conditions: Sequence[Expr]) -> Expr:
    return reduce(expr.logical_and, conditions) if conditions else expr.ONE


@lru_cache(maxsize=4096)  # of neighbouring copies, and from program to program, many are the same
def _compared(compare: Callable[[Expr, Expr], Expr], form: Linear) -> Expr:
    """``0 <= form``, or ``0 == form``: of a single variable as that and a number, which is what
    the host compares without an addition."""
    const, items = form
    if len(items) == 1 and isinstance(items[0][0], int):
        ((loop_id, factor),) = items
        variable = expr.var(loop_id)
        # It is at least a quotient, rounded up, or at most one, rounded down.
        if factor > 0:
            return compare(expr.const(-(const // factor)), variable)
        return compare(variable, expr.const(const // -factor))
    return compare(expr.ZERO, to_expr(form))


class CopyCommand(Protocol):
    """The device's command for a copy."""

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        """What does an iteration of an operation's loops: a command, with those that have to come
        right before it, whichever engine takes them."""


class CopyKind(NamedTuple):
    """What copies have in common that are one in all of their loops.

    is_load : whether it writes the memory.
    memory : that it writes, or reads.
    argument : that it copies from or to; None for zeros.
    block_columns, block_rows : columns of a block of a row, and rows of the tile between blocks.
    lines : the rows that each row of a stacked load is written to, its own and those before.
    """

    engine: Engine
    is_load: bool
    memory: Memory
    argument: int | None
    block_columns: int
    block_rows: int
    command: CopyCommand
    lines: int = 1


class CopyOperation(NamedTuple):
    """A copy command in loops.

    row : of the tile in its memory, the first.
    dram_bytes : from the start of the argument.
    rows, columns : how many are copied.
    most_rows, most_columns : bounds of these; ``most_rows`` is 0 where the rows are not known.
    cycles : how long one command keeps its engine.
    block : of channels, where it is stored by a scale of its own.
    """

    kind: CopyKind
    loops: tuple[LoopExtent, ...]
    row: Linear
    dram_bytes: Linear
    rows: Linear
    columns: Linear
    most_rows: int
    most_columns: int
    guards: tuple[Guard, ...]
    cycles: float
    block: Linear = Linear()

    @property
    def number(self) -> int:
        """How many commands it is."""
        return prod([loop.extent for loop in self.loops])

    @property
    def is_load(self) -> bool:
        """Whether it writes the device's memories."""
        return self.kind.is_load

    def substitute(
        self, values: Mapping[int, Linear], loops: tuple[LoopExtent, ...] | None = None
    ) -> CopyOperation:
        """The operation where loops have these values, in loops of its own that may be others."""
        return self._changed(self.loops if loops is None else loops, Linear.substitute, values)

    def _changed(
        self, loops: tuple[LoopExtent, ...], change: Callable[..., Linear], *by: object
    ) -> CopyOperation:
        """The operation in these loops, each of its forms changed."""
        rows, columns, block = self.rows, self.columns, self.block  # which mostly are constants
        fields = (
            self.kind,
            loops,
            change(self.row, *by),
            change(self.dram_bytes, *by),
            change(rows, *by) if rows.items else rows,
            change(columns, *by) if columns.items else columns,
            self.most_rows,
            self.most_columns,
            tuple(
                [
                    _new(Guard, (tuple([change(form, *by) for form in forms]), negated))
                    for forms, negated in self.guards
                ]
            )
            if self.guards
            else (),
            self.cycles,
            change(block, *by) if block.items else block,
        )
        return _new(CopyOperation, fields)

    def where(self, conditions: Sequence[Linear], ids: LoopIds) -> CopyOperation | None:
        """The operation where these are all >= 0; None where that is never."""
        if not self.guards and not conditions:
            return self
        guards = []
        for guard in (*self.guards, Guard(tuple(conditions))) if conditions else self.guards:
            if guard.negated:
                guards.append(guard)
                continue
            left = []
            for form in guard.forms:
                least, greatest = ids.bounds(form, self.loops)
                if greatest < 0:
                    return None
                if least < 0:
                    left.append(form)
            if left:
                is_whole = len(left) == len(guard.forms)
                guards.append(guard if is_whole else _new(Guard, (tuple(left), False)))
        if guards == [*self.guards]:
            return self
        return _new(CopyOperation, (*self[:8], tuple(guards), *self[9:]))

    def sliced(self, axis: int, start: Linear, count: int) -> CopyOperation:
        """``count`` iterations of the ``axis``-th loop, from ``start`` on."""
        loop_id, extent, _ = self.loops[axis]
        if count == 1:
            others = (*self.loops[:axis], *self.loops[axis + 1 :])
            return self._changed(others, Linear.replaced, loop_id, start)
        if count == extent:
            return self
        shorter = _new(LoopExtent, (loop_id, count, ""))
        loops = (*self.loops[:axis], shorter, *self.loops[axis + 1 :])
        return self._changed(loops, Linear.advanced, loop_id, start)

    def merged(self) -> CopyOperation:
        """With one loop for several along which everything advances evenly."""
        loops = list(self.loops)
        operation = self
        forms = [self.row, self.dram_bytes, self.rows, self.columns, self.block]
        forms += [form for guard in self.guards for form in guard.forms]
        while True:
            pair = _mergeable(loops, forms)
            if pair is None:
                return operation._replace(loops=tuple(loops))
            outer, inner = pair
            loops[loops.index(outer)] = LoopExtent(inner.loop_id, outer.extent * inner.extent)
            loops.remove(inner)
            operation = operation.substitute({outer.loop_id: Linear()})
            forms = [form.substitute({outer.loop_id: Linear()}) for form in forms]

    def split(self, axis: int, inner: int, ids: LoopIds) -> CopyOperation:
        """With a loop in two, the inner one of so many iterations."""
        loop = self.loops[axis]
        assert loop.extent % inner == 0, "iterations would be lost"
        outer, within = ids.loop(loop.extent // inner), ids.loop(inner)
        index = Linear.loop(outer.loop_id) * inner + Linear.loop(within.loop_id)
        loops = (*self.loops[:axis], outer, within, *self.loops[axis + 1 :])
        return self.substitute({loop.loop_id: index})._replace(loops=loops)

    def touched_rows(self, *, stacked: bool = True) -> np.ndarray | None:
        """The rows that each command touches, int64 of the loops' extents and then the rows of one
        command, less what loops around add; None where they are not known.

        Rows of a command are told from its most rows and columns; ``stacked`` is whether those are
        among them that it writes columns further to the right of.
        """
        pattern = self.row_pattern(stacked=stacked)
        return None if pattern is None else pattern.rows + self.row.const

    def row_pattern(self, *, stacked: bool = True) -> RowPattern | None:
        """Those of `touched_rows`, counted from the first."""
        if not self.most_rows:
            return None
        along = []
        for loop in self.loops:
            if not self.row.is_linear_in(loop.loop_id):
                return None
            along.append((loop.extent, self.row.coefficient(loop.loop_id)))
        n_blocks = ceil_div(self.most_columns, self.kind.block_columns)
        own = 1 - self.kind.lines if stacked else 0, self.most_rows
        return RowPattern(tuple(along), n_blocks, self.kind.block_rows, own)

    @property
    def is_divisible(self) -> bool:
        """Whether its iterations may be told apart and come in another order: no two write the
        same row."""
        if not self.loops or not self.is_load:
            return True
        pattern = self.row_pattern(stacked=False)
        return pattern is not None and pattern.is_distinct

    def dram_address(self) -> Operand | int:
        """Where the first byte is that a command copies; 0 for zeros."""
        if self.kind.argument is None:
            return 0
        return Operand.argument(self.kind.argument, to_operand(self.dram_bytes))

    def nodes(self) -> tuple[Node, ...]:
        """The command in its loops, under its conditions."""
        body = self.kind.command.nodes(self)
        if not self.guards:
            return nested(self.loops, body)
        condition = _all_of([guard.expression() for guard in self.guards])
        for loop in self.loops:
            if any(form.depends_on(loop.loop_id) for g in self.guards for form in g.forms):
                return nested(self.loops, when(condition, body))
        return when(condition, nested(self.loops, body))


def values_of(loops: Sequence[LoopExtent], others: Sequence[LoopExtent]) -> dict[int, Linear]:
    """The variables of loops, each as that of another one."""
    both = zip(loops, others, strict=True)
    return {loop.loop_id: Linear.loop(other.loop_id) for loop, other in both}


def when(condition: Expr, body: tuple[Node, ...]) -> tuple[Node, ...]:
    """``body`` where a condition holds."""
    if not condition.is_const:
        return (Loop(CONDITION_LOOP, condition, body),)
    return body if condition.value else ()


def nested(loops: Sequence[LoopExtent], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """``body`` in loops of a program."""
    for loop in reversed(loops):
        if loop.extent > 1:
            body = (Loop(loop.loop_id, expr.const(loop.extent), body),) if body else ()
    return body


def _mergeable(
    loops: Sequence[LoopExtent], forms: Sequence[Linear]
) -> tuple[LoopExtent, LoopExtent] | None:
    """Two loops of which the one advances by as much as the other in all its iterations."""
    for outer in loops:
        for inner in loops:
            if outer is not inner and all(
                form.is_linear_in(outer.loop_id)
                and form.is_linear_in(inner.loop_id)
                and form.coefficient(outer.loop_id)
                == form.coefficient(inner.loop_id) * inner.extent
                for form in forms
            ):
                return outer, inner
    return None
