"""Which columns of a tile's rows hold what the definition says, and who looks at the others.

A load under a condition on the column (`if_then_else(block * dim + column < channels, ...)`) moves
the columns that satisfy it; the others stay what they were before, which is anything.  (Under
another condition it writes whole rows of zeros.)  Definitions get away with that by reading them
nowhere, or multiplying them by rows of zeros: the array multiplies column k of A by row k of B, and
what the columns of B hold goes to the same columns of the sums.  Here that is checked, on the
scheduled function, where tiles still have the coordinates of the definition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..intrin import ACCUMULATOR, SCRATCHPAD, is_gemm
from .bounds import implies, least
from .copies import is_call, is_zero, without_self
from .errors import CodegenError
from .linear import Linear, comparisons, constant, linear


def check_columns(func: tirx.PrimFunc) -> None:
    """Raise CodegenError where a scheduled function reads columns that nothing has defined, or
    reads what it writes to memory."""
    reader = _Reader(func)
    reader.visit(func.body, [])
    if any(write.partial for writes in reader.writes.values() for write in writes):
        _Check(reader).run()


@dataclass(frozen=True)
class _Place:
    """A statement, how many come before it in the function's text, and the loops around it."""

    stmt: tirx.Stmt
    order: int
    loops: frozenset[int]

    @property
    def text(self) -> str:
        """The statement, without the declarations of its variables."""
        return str(self.stmt).splitlines()[-1]


@dataclass(frozen=True)
class _Write:
    """What a statement writes of a tile, in its own loops: an element at ``at``; whole rows of
    zeros where a form in ``zero_below`` is below 0; else nothing where one in ``partial`` is.  Only
    where all of ``given`` are >= 0."""

    at: list[Linear]
    partial: list[Linear]
    zero_below: list[Linear]
    is_zero: bool
    where: _Place
    given: tuple[Linear, ...] = ()


@dataclass(frozen=True)
class _Read:
    """An element that a statement reads where all of ``given`` are >= 0."""

    tile: str
    at: list[Linear]
    given: list[Linear]
    where: _Place


@dataclass(frozen=True)
class _Step:
    """The array's step: for lanes and columns, elements of A, of B and of the sums."""

    a: _Read
    b: _Read
    c: _Read


class _Reader:
    """Collects what the statements of a function write and read of tiles."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.extents: dict[int, int] = {}
        self.writes: dict[str, list[_Write]] = {}
        self.reads: list[_Read] = []
        self.steps: list[_Step] = []
        self._output, self._inputs = func.params[-1], set(func.params[:-1])
        self._env: dict[Var, Linear] = {}
        self._matched: dict[str, tuple[tirx.Buffer, list[Linear]]] = {}
        self._n_statements = 0
        self._loops: list[int] = []

    def fresh(self, extent: int) -> Linear:
        """A variable of its own."""
        loop_id = len(self.extents)
        self.extents[loop_id] = extent
        return Linear.loop(loop_id)

    def visit(self, stmt: tirx.Stmt, given: list[Linear]) -> None:
        """A statement that runs where all of ``given`` are >= 0."""
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self.visit(part, given)
        elif isinstance(stmt, tirx.For):
            variable = self.fresh(constant(stmt.extent))
            self._env[stmt.loop_var] = variable + constant(stmt.min)
            self._loops.extend(variable.variables())
            self.visit(stmt.body, given)
            self._loops.pop()
        elif isinstance(stmt, s_tir.SBlockRealize):
            self._block(stmt, given)
        elif isinstance(stmt, tirx.IfThenElse):
            self.visit(stmt.then_case, given + self._known(stmt.condition))
            if stmt.else_case is not None:
                self.visit(stmt.else_case, given)
        elif isinstance(stmt, BufferStore):
            self._store(stmt, given)
        elif isinstance(stmt, tirx.Evaluate) and is_gemm(stmt.value):
            self._gemm(stmt)

    def _block(self, realize: s_tir.SBlockRealize, given: list[Linear]) -> None:
        block = realize.block
        given = given + self._known(realize.predicate)
        for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
            first, extent = constant(iterator.dom.min), constant(iterator.dom.extent)
            variable = self.fresh(extent) + first
            self._env[iterator.var] = variable
            if given:
                bound = linear(value, self._env)
                for form in list(given):
                    # What is known of the value that the iterator takes.
                    for sign in (1, -1):
                        if bound.items and (form - bound * sign).is_const:
                            given.append(form - bound * sign + variable * sign)
        for match in block.match_buffers:
            mins = [linear(part.min, self._env) for part in match.source.region]
            self._matched[match.buffer.name] = match.source.source, mins
        if block.init is not None:
            self.visit(block.init, given)
        self.visit(block.body, given)

    def _place(self, stmt: tirx.Stmt) -> _Place:
        self._n_statements += 1
        return _Place(stmt, self._n_statements, frozenset(self._loops))

    def _known(self, condition: tirx.Expr) -> list[Linear]:
        """The forms of a condition; none where it is no conjunction of comparisons."""
        if isinstance(condition, tirx.And):
            return self._known(condition.a) + self._known(condition.b)
        if isinstance(condition, (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ)):
            return comparisons(condition, self._env)
        return []

    def _store(self, store: BufferStore, given: list[Linear]) -> None:
        where = self._place(store)
        value, accumulates = without_self(store)
        loads: list[TensorLoad] = []
        tvm_ffi.structural_walk(value, (TensorLoad, loads.append))
        for load in loads:
            if load.source.same_as(self._output):
                raise CodegenError(
                    f"`{where.text}` reads {self._output.name}, which is the output: what a "
                    "program writes to memory it cannot read again; keep it in a tile, or make "
                    "two functions of it"
                )
            if _is_tile(load.source):
                at = [linear(index, self._env) for index in load.indices]
                self.reads.append(_Read(load.source.name, at, given, where))
        if store.buffer in self._inputs:
            raise CodegenError(
                f"`{where.text}` writes {store.buffer.name}, which is an input: the last "
                "argument is the output"
            )
        if _is_tile(store.buffer) and not accumulates:
            self._load(store, value, where, ())

    def _load(
        self, store: BufferStore, value: tirx.Expr, where: _Place, given: tuple[Linear, ...]
    ) -> None:
        at = [linear(index, self._env) for index in store.indices]
        conditions: list[Linear] = []
        if is_call(value, "prim.if_then_else"):
            try:
                conditions = comparisons(value.args[0], self._env)
            except CodegenError as error:
                raise CodegenError(f"no command computes `{where.text}`: {error}") from error
            if len(conditions) == 1 and not isinstance(value.args[2], tirx.IntImm):
                (condition,) = conditions  # a choice between two copies
                self._load(store, value.args[1], where, (*given, condition))
                self._load(store, value.args[2], where, (*given, condition * -1 - 1))
                return
            value = value.args[1]
        conditions = [form for form in conditions if least(form, self.extents) < 0]
        columns = at[-1].variables()
        conditions = [_of_rows(form, columns, self.extents) for form in conditions]
        # Of a condition on lines that a row has side by side, the device writes zeros.
        partial = [f for f in conditions if any(f.coefficient(column) for column in columns)]
        rows = [form for form in conditions if form not in partial]
        write = _Write(at, partial, rows, is_zero(value), where, given)
        self.writes.setdefault(store.buffer.name, []).append(write)

    def _gemm(self, stmt: tirx.Evaluate) -> None:
        where = self._place(stmt)
        _, a, b, c, rows, row_step = stmt.value.args
        dim = int(b.args[0].source.shape[-1])
        row, lane, column = self.fresh(int(rows.value)), self.fresh(dim), self.fresh(dim)

        def read(argument: tirx.Expr, row: Linear, column: Linear) -> _Read:
            load = argument.args[0]
            indices = [linear(index, self._env) for index in load.indices]
            buffer = load.source
            while buffer.name in self._matched:
                buffer, mins = self._matched[buffer.name]
                indices = [Linear()] * (len(mins) - len(indices)) + indices
                indices = [low + index for low, index in zip(mins, indices, strict=True)]
            at = [*indices[:-2], indices[-2] + row, indices[-1] + column]
            if least(at[-2] * -1 + (int(buffer.shape[-2]) - 1), self.extents) < 0:
                # Rows that go on along another dimension: any of the tile.
                at = [*(self.fresh(int(extent)) for extent in buffer.shape[:-1]), at[-1]]
            return _Read(buffer.name, at, [], where)

        first = read(a, row * int(row_step.value), lane)
        self.steps.append(_Step(first, read(b, lane, column), read(c, row, column)))


class _Check:
    """Compares what is read of tiles with what is defined."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._extents = reader.extents
        self._writes = {tile: list(writes) for tile, writes in reader.writes.items()}

    def run(self) -> None:
        """Raises CodegenError."""
        for step in self._reader.steps:
            self._inputs(step)
            self._sums(step)
        for read in self._reader.reads:
            for write in self._writes.get(read.tile, ()):
                given, partial = self._seen(write, read)
                if not all(implies(given, form, self._extents) for form in partial):
                    raise CodegenError(
                        f"`{read.where.text}` takes columns of tile {read.tile} that "
                        f"`{write.where.text}` leaves as they were; take only those that it "
                        "writes, by a condition on the column"
                    )

    def _inputs(self, step: _Step) -> None:
        """Undefined columns of A meet rows of zeros in B."""
        for write in self._writes.get(step.a.tile, ()):
            given, partial = self._seen(write, step.a)
            for weights in self._writes.get(step.b.tile, ()):
                if not partial or weights.is_zero:
                    continue
                rows, _ = self._seen(weights, step.b)
                if not all(implies([*given, *rows], form, self._extents) for form in partial):
                    raise CodegenError(
                        f"the array reads columns of tile {step.a.tile} that "
                        f"`{write.where.text}` leaves as they were, and multiplies them by rows "
                        f"of tile {step.b.tile} that are not zero; give `{weights.where.text}` "
                        "the same condition on its rows"
                    )

    def _sums(self, step: _Step) -> None:
        """Undefined columns of B make such columns of the sums."""
        for weights in self._writes.get(step.b.tile, ()):
            given, partial = self._seen(weights, step.b)
            if partial:
                where = replace(step.c.where, stmt=weights.where.stmt)
                write = _Write(step.c.at, partial, given, False, where)
                self._writes.setdefault(step.c.tile, []).append(write)

    def _seen(self, write: _Write, read: _Read) -> tuple[list[Linear], list[Linear]]:
        """What is known of an element that is read and is not in a row of zeros, and the forms
        that tell whether it is defined, in the loops of what reads it."""
        known: dict[int, Linear] = {}
        for mine, other in zip(write.at, read.at, strict=True):
            (loop_id,) = mine.variables() if len(mine.variables()) == 1 else (-1,)
            if mine.items == ((loop_id, 1),):
                known.setdefault(loop_id, other - mine.const)
        forms = [*write.partial, *write.zero_below, *write.given]
        for loop_id in set().union(*(form.variables() for form in forms)) - known.keys():
            # Of a loop around both the same iteration, if that writes all before it is read.
            around_both = loop_id in write.where.loops & read.where.loops
            again = any(form.depends_on(loop_id) for form in write.at)
            if not around_both or again or write.where.order > read.where.order:
                known[loop_id] = self._reader.fresh(self._extents[loop_id])
        given = [form.substitute(known) for form in (*write.zero_below, *write.given)]
        return [*read.given, *given], [form.substitute(known) for form in write.partial]


def _of_rows(form: Linear, column: set[int], extents: Mapping[int, int]) -> Linear:
    """A condition on columns that each row satisfies in all of them or in none, as one on the row;
    any other as it is."""
    ends = [form.coefficient(key) * (extents[key] - 1) for key in column]
    low, high = (sum(bound(0, end) for end in ends) for bound in (min, max))
    rest = form.without(*column)
    unit = math.gcd(*(factor for _, factor in rest.items))
    if not unit or any(not form.is_linear_in(key) for key in column):
        return form
    first = (rest.const + high) % unit - high  # of the values that rows may have, from -high on
    return rest + low if first >= -low else form


def _is_tile(buffer: tirx.Buffer) -> bool:
    return buffer.scope() in (SCRATCHPAD, ACCUMULATOR)
