"""What the statements of a scheduled function write and read of tiles, in their coordinates there.

In a lowered function they are rows of the device's memories; here they still are what the
definition calls them, so what is written can be compared with what is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, kind_of
from ..device.intrinsic import Access
from ..intrin import StepCall, step_call
from .bounds import least
from .copies import is_call, is_zero, without_self
from .errors import CodegenError, about
from .linear import Linear, all_linear, comparisons, constant, linear
from .named import text_of


@dataclass(frozen=True)
class Place:
    """A statement, how many come before it in the function's text, and the loops around it."""

    stmt: tirx.Stmt
    order: int
    loops: frozenset[int]

    @property
    def text(self) -> str:
        """The statement, without the declarations of its variables."""
        return text_of(self.stmt)


@dataclass(frozen=True)
class Write:
    """What a statement writes of a tile, in its own loops: an element at ``at``; whole rows of
    zeros where a form in ``zero_below`` is below 0; else nothing where one in ``partial`` is.  Only
    where all of ``given`` are >= 0."""

    at: list[Linear]
    partial: list[Linear]
    zero_below: list[Linear]
    is_zero: bool
    where: Place
    given: tuple[Linear, ...] = ()


@dataclass(frozen=True)
class Read:
    """An element that a statement reads where all of ``given`` are >= 0."""

    tile: str
    at: list[Linear]
    given: list[Linear]
    where: Place


@dataclass(frozen=True)
class Step:
    """A step that multiplies: for lanes and columns, elements of A, of B and of the sums."""

    a: Read
    b: Read
    c: Read


class AccessReader:
    """Collects what the statements of a function write and read of tiles.  Raises CodegenError for
    one that reads the output, or writes an input."""

    def __init__(self, func: tirx.PrimFunc, config: DeviceConfig) -> None:
        self._device, self._memories = config.name, config.memories
        self._scopes = config.memories.scopes
        self._intrinsics = kind_of(config).intrinsics(config)
        self.extents: dict[int, int] = {}
        self.writes: dict[str, list[Write]] = {}
        self.reads: list[Read] = []
        self.steps: list[Step] = []
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
            with about(stmt):
                self._store(stmt, given)
        elif isinstance(stmt, tirx.Evaluate):
            call = step_call(stmt.value, self._intrinsics)
            if call is not None:
                with about(stmt):
                    self._step(stmt, call)

    def _block(self, realize: s_tir.SBlockRealize, given: list[Linear]) -> None:
        block = realize.block
        given = given + self._known(realize.predicate)
        values = realize.iter_values[:] if given else []
        for index, iterator in enumerate(block.iter_vars[:]):
            domain = iterator.dom
            variable = self.fresh(constant(domain.extent)) + constant(domain.min)
            self._env[iterator.var] = variable
            if given:
                bound = linear(values[index], self._env)
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

    def _place(self, stmt: tirx.Stmt) -> Place:
        self._n_statements += 1
        return Place(stmt, self._n_statements, frozenset(self._loops))

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
                    "two functions of it",
                    store,
                )
            if self._is_tile(load.source):
                at = all_linear(load.indices, self._env)
                self.reads.append(Read(load.source.name, at, given, where))
        if store.buffer in self._inputs:
            raise CodegenError(
                f"`{where.text}` writes {store.buffer.name}, which is an input: the last "
                "argument is the output",
                store,
            )
        if self._is_tile(store.buffer) and not accumulates:
            self._load(store, value, where, ())

    def _load(
        self, store: BufferStore, value: tirx.Expr, where: Place, given: tuple[Linear, ...]
    ) -> None:
        at = all_linear(store.indices, self._env)
        conditions: list[Linear] = []
        if is_call(value, "prim.if_then_else"):
            try:
                conditions = comparisons(value.args[0], self._env)
            except CodegenError as error:
                text = f"no command computes `{where.text}`: {error}"
                raise CodegenError(text, store) from error
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
        write = Write(at, partial, rows, is_zero(value), where, given)
        self.writes.setdefault(store.buffer.name, []).append(write)

    def _is_tile(self, buffer: tirx.Buffer) -> bool:
        return buffer.scope() in self._scopes

    def _step(self, stmt: tirx.Evaluate, call: StepCall) -> None:
        where = self._place(stmt)
        if call.intrinsic.multiplies:
            a, b, c = call.elements
            row = self.fresh(call.operands[2].rows)
            lane, column = self.fresh(call.operands[1].rows), self.fresh(self._columns(b, stmt))
            first = self._element(a, row * call.operands[0].row_step, lane, where)
            second = self._element(b, lane, column, where)
            self.steps.append(Step(first, second, self._element(c, row, column, where)))
            return
        for operand, element in zip(call.operands, call.elements, strict=True):
            column = self.fresh(self._columns(element, stmt))
            row = self.fresh(operand.rows) * operand.row_step
            touched = self._element(element, row, column, where)
            if operand.access is Access.WRITE:
                write = Write(touched.at, [], [], False, where)
                self.writes.setdefault(touched.tile, []).append(write)
            else:
                self.reads.append(touched)

    def _columns(self, element: TensorLoad, stmt: tirx.Stmt) -> int:
        """The columns of a row of an operand, which a step takes whole."""
        buffer = element.source
        memory = self._memories.find(buffer.scope())
        taken = constant(buffer.shape[-1])
        if memory is None:
            return taken
        if buffer.name in self._matched and taken != memory.columns:
            raise CodegenError(
                f"the step's intrinsic takes rows of {taken} elements, the {memory.title} of "
                f"{self._device} has {memory.columns}: it is of another device",
                stmt,
            )
        return memory.columns

    def _element(self, first: TensorLoad, row: Linear, column: Linear, where: Place) -> Read:
        """An element of an operand, from the first one on."""
        indices = all_linear(first.indices, self._env)
        buffer = first.source
        while buffer.name in self._matched:
            buffer, mins = self._matched[buffer.name]
            indices = [Linear()] * (len(mins) - len(indices)) + indices
            indices = [low + index for low, index in zip(mins, indices, strict=True)]
        at = [*indices[:-2], indices[-2] + row, indices[-1] + column]
        if least(at[-2] * -1 + (int(buffer.shape[-2]) - 1), self.extents) < 0:
            # Rows that go on along another dimension: any of the tile.
            at = [*(self.fresh(int(extent)) for extent in buffer.shape[:-1]), at[-1]]
        return Read(buffer.name, at, [], where)


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
