"""The first inputs in two places, by turns: what arrives does not keep what is read waiting.

A bank of a memory has one port.  While steps in outer-product order read a part of the first inputs
(:mod:`npu_target.codegen.ends`), the next part comes; where both are in one bank, each row that
arrives costs a cycle.  So the parts go by turns to where the first one belongs and to rows of
another bank that no tile needs, each to the place of the last but one, which is done with by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, product
from typing import NamedTuple

from ..device import Memory
from ..device.intrinsic import Access
from ..passes.linear import Atom, Key, Linear, combine
from ..topi.blocking import ceil_div
from .dependences import Touched, conflict
from .nests import CopyNest, StepNest, Values
from .operations import CopyOperation, LoopIds
from .placed import Placed, PlacedCopy, PlacedLoop, PlacedStep
from .statements import Branch, Repeat, Statement
from .statements import Sequence as Statements
from .steps import Steps

# Statements to look at until the first inputs' rows are needed again.
_MOST_STATEMENTS = 1 << 10


class InputPlaces:
    """Which rows the inputs of the first steps may have.

    parts : the statements of the function.
    memory : where inputs are.
    free : finds the rows of it that no tile of the function has, each range in one bank.
    """

    def __init__(
        self,
        parts: Sequence[Statement],
        memory: Memory,
        free: Callable[[], Sequence[range]],
        ids: LoopIds,
    ) -> None:
        self._parts = parts
        self._memory = memory
        self._make_free = free
        self._ids = ids

    @cached_property
    def _free(self) -> Sequence[range]:
        return self._make_free()

    def in_two_places(
        self,
        placed: tuple[Placed, ...],
        steps: Steps,
        nest: StepNest,
        values: Values,
        touched: Sequence[Touched],
    ) -> tuple[Placed, ...]:
        """What is placed of the first nest of steps, its inputs in two places by turns, or as it is
        where they have no parts for that.

        Parameters
        ----------
        steps : of the nest, the outermost loop over the parts.
        touched : the tiles of its operands.
        """
        for operand, (kind, tile) in enumerate(zip(steps.step.operands, touched, strict=True)):
            is_input = kind.follows and kind.access is Access.READ
            if not is_input or nest.memories[operand] != self._memory:
                continue
            turns = self._turns(steps, operand)
            if turns is None or not are_loaded_again(self._parts, nest, values, tile):
                continue
            inputs = _Inputs(turns, operand, tile, self._ids)
            try:
                if _is_in_order(inputs.accesses(placed, {})):
                    placed = tuple(map(inputs.moved, placed))
            except _NoParts:
                continue
        return placed

    def _turns(self, steps: Steps, operand: int) -> _Turns | None:
        """The places of an operand's parts, if there are any."""
        form = steps.step.first_rows[operand]
        own = [loop.loop_id for loop in steps.loops]
        start = form.without(*own)
        if not own or not start.is_const or not all(form.is_linear_in(loop) for loop in own):
            return None
        first, rows = start.const, form.coefficient(own[0])
        bank_rows = self._memory.bank_rows
        bank = first // bank_rows
        if rows < 1 or (first + rows - 1) // bank_rows != bank:
            return None
        for place in self._free:
            if len(place) >= rows and place.start // bank_rows != bank:
                return _Turns(first, place.start, rows, steps.loops[0].extent)
        return None


def are_loaded_again(
    parts: Iterable[Statement], nest: StepNest, values: Values, tile: Touched
) -> bool:
    """Whether a nest is the first of steps, and what next touches a tile that it reads are loads as
    those that came before it, of all of the same rows."""
    loaded: list[object] = []
    first = True
    statements = islice(_executed(Statements(tuple(parts)), {}), _MOST_STATEMENTS)
    for stmt, around in statements:
        is_touched = conflict(stmt.touched(around), [tile])
        if isinstance(stmt, StepNest):
            if first and (stmt is not nest or around != values):
                return False
            if not first and is_touched:
                return not loaded
            first = False
        elif not is_touched:
            continue
        elif not stmt.is_load or stmt.is_guarded:
            return False
        elif first:
            loaded.append(_rows_of(stmt, around))
        elif not loaded or loaded.pop(0) != _rows_of(stmt, around):
            return False
    return next(statements, None) is None


def _executed(stmt: Statement, values: Values) -> Iterator[tuple[CopyNest | StepNest, Values]]:
    """The nests in the order of their execution, with the values of the loops around."""
    if isinstance(stmt, Statements):
        for part in stmt.parts:
            yield from _executed(part, values)
    elif isinstance(stmt, Repeat):
        for index in range(stmt.start, stmt.start + stmt.extent):
            yield from _executed(stmt.body, {**values, stmt.symbol: Linear(index)})
    elif isinstance(stmt, Branch):
        holds = stmt.holds(values)
        if holds is None:
            yield from _executed(stmt.whole, values)
        else:
            yield from _executed(stmt.then if holds else stmt.otherwise, values)
    elif isinstance(stmt, (CopyNest, StepNest)):
        yield stmt, values


def _rows_of(nest: CopyNest, values: Values) -> object:
    """What is equal for loads of the same rows."""
    copy = nest.copy
    row, column = copy.row.substitute(values), copy.column.substitute(values)
    ids = [loop.loop_id for loop in nest.loops]
    if not all(form.is_linear_in(loop_id) for form in (row, column) for loop_id in ids):
        return nest, tuple(sorted(values.items()))
    steps = [
        (row.coefficient(loop.loop_id), column.coefficient(loop.loop_id), loop.extent)
        for loop in nest.loops
    ]
    return row.without(*ids), column.without(*ids), tuple(sorted(steps))


class _Turns(NamedTuple):
    """Where parts of so many rows go that lie behind each other from a row on: the last one there,
    the one before to the other place, and so on."""

    first: int
    other: int
    rows: int
    number: int

    def row(self, part: Linear) -> Linear:
        """The first row of a part in its place."""
        is_other = combine("floormod", part + (self.number - 1), Linear(2))
        return is_other * (self.other - self.first) + self.first


class _NoParts(Exception):
    """Rows that are of no part, or of several."""


class _Access(NamedTuple):
    """Of a part, that it is loaded or read."""

    is_load: bool
    part: int


class _Inputs:
    """The inputs in what is placed."""

    def __init__(self, turns: _Turns, operand: int, tile: Touched, ids: LoopIds) -> None:
        self._turns = turns
        self._operand = operand
        self._tile = tile
        self._ids = ids

    def moved(self, one: Placed) -> Placed:
        """What is placed, with each part of the inputs in its place."""
        if isinstance(one, PlacedLoop):
            return PlacedLoop(one.loop, tuple(map(self.moved, one.body)))
        found = self._rows(one)
        if found is None:
            return one
        part, rest = found
        row = self._turns.row(part) + rest
        if isinstance(one, PlacedCopy):
            return one._replace(operation=one.operation._replace(row=row))
        assert isinstance(one, PlacedStep)
        rows = list(one.step.first_rows)
        rows[self._operand] = row
        return one._replace(step=one.step._replace(first_rows=tuple(rows)))

    def accesses(self, placed: Iterable[Placed], values: Mapping[int, Linear]) -> Iterator[_Access]:
        """When which part is loaded or read, where loops have these values.  Loops whose
        iterations are of the same parts are gone through twice."""
        for one in placed:
            if isinstance(one, PlacedLoop):
                loop_id, extent = one.loop.loop_id, one.loop.extent
                if not any(form.depends_on(loop_id) for form in self._deciding(one.body)):
                    extent = min(extent, 2)
                for index in range(extent):
                    yield from self.accesses(one.body, {**values, loop_id: Linear(index)})
                continue
            found = self._rows(one)
            if found is None:
                continue
            part = found[0].substitute(values)
            if not isinstance(one, PlacedCopy):
                yield _Access(False, part.const)
                continue
            operation = one.operation.substitute(values)
            for indices in product(*(range(loop.extent) for loop in operation.loops)):
                own = zip(operation.loops, map(Linear, indices), strict=True)
                known = {loop.loop_id: index for loop, index in own}
                if all(guard.substitute(known).may_hold for guard in operation.guards):
                    yield _Access(True, part.substitute(known).const)

    def _deciding(self, placed: Iterable[Placed]) -> Iterator[Linear]:
        """On what it depends which part is touched."""
        for one in placed:
            if isinstance(one, PlacedLoop):
                yield from self._deciding(one.body)
            elif (found := self._rows(one)) is not None:
                yield found[0]
                if isinstance(one, PlacedCopy):
                    yield from (form for guard in one.operation.guards for form in guard.forms)

    def _rows(self, one: Placed) -> tuple[Linear, Linear] | None:
        """The part that a step or a copy touches, and the first row in it; None for what touches
        no inputs."""
        if isinstance(one, PlacedStep):
            operand, form = one.step.operands[self._operand], one.step.first_rows[self._operand]
            last = self._ids.bounds(one.row)[1] + one.rows - 1
            return self._divided(form, last * operand.row_step, self._ids.bounds)
        if not isinstance(one, PlacedCopy) or not conflict(one.touched, [self._tile]):
            return None
        operation, kind = one.operation, one.operation.kind
        if not operation.most_rows or kind.lines > 1:
            raise _NoParts
        blocks = ceil_div(operation.most_columns, kind.block_columns)
        reach = (blocks - 1) * kind.block_rows + operation.most_rows - 1
        return self._divided(operation.row, reach, partial(self._guarded_bounds, operation))

    def _guarded_bounds(self, operation: CopyOperation, form: Linear) -> tuple[float, float]:
        """The least and the greatest value of a form where conditions on single loops hold."""
        least = greatest = float(form.const)
        for key, factor in form.items:
            low, high = self._ids.bounds(Linear(0, ((key, 1),)), operation.loops)
            for guard in operation.guards:
                for condition in () if guard.negated else guard.forms:
                    if [atom for atom, _ in condition.items] == [key]:
                        ((_, by),) = condition.items
                        if by > 0:
                            low = max(low, ceil_div(-condition.const, by))
                        else:
                            high = min(high, condition.const // -by)
            least += min(factor * low, factor * high)
            greatest += max(factor * low, factor * high)
        return least, greatest

    def _divided(
        self, form: Linear, reach: float, bounds: Callable[[Linear], tuple[float, float]]
    ) -> tuple[Linear, Linear]:
        """The part of rows that reach so far from one on, and that one's place in it."""
        rows = self._turns.rows
        part, rest = divmod(form.const - self._turns.first, rows)
        parts: dict[Key, int] = {}
        rests: dict[Key, int] = {}
        for key, factor in form.items:
            if isinstance(key, Atom):
                raise _NoParts
            if factor % rows:
                rests[key] = factor
            else:
                parts[key] = factor // rows
        within = Linear.of(rest, rests)
        least, greatest = bounds(within)
        if least < 0 or greatest + reach >= rows:
            raise _NoParts
        return Linear.of(part, parts), within


def _is_in_order(accesses: Iterable[_Access]) -> bool:
    """Whether no part comes to a place before the one there has been read, nor is one read that
    another has come in the place of."""
    loaded: dict[int, int] = {}  # by place, the last one
    for access in accesses:
        there = loaded.get(access.part % 2, -1)
        if access.part < there or (not access.is_load and access.part != there):
            return False
        if access.is_load:
            loaded[access.part % 2] = access.part
    return True
