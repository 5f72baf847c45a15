"""The statements of a lowered function as the code generator walks them, read once.

The generator comes to a statement several times: for the first iteration of a loop, for the
others, for the copies that it leaves waiting.  Only the values of the loops around differ.  So
TensorIR, which is slow to look at from Python, is read once: index expressions become forms over
*symbols*, numbers below 0 that stand for the variables of loops, and a visit puts in their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from .codegen_steps import ArrayStep
from .codegen_weave import Touched
from .intrin import ACCUMULATOR, SCRATCHPAD, WOVEN
from .passes.copies import Load, Store, recognise
from .passes.errors import CodegenError
from .passes.linear import Linear, comparisons, linear, undivided
from .passes.memory import Placement
from .passes.tiles import is_gemm
from .passes.transfers import LoopExtent

Values = Mapping[int, Linear]  # of symbols


@dataclass(frozen=True)
class Sequence:
    """Statements one after another."""

    parts: tuple[Statement, ...]


@dataclass(frozen=True)
class Unsupported:
    """A statement that is an error where it is come to."""

    text: str


@dataclass(frozen=True)
class Repeat:
    """A loop that stays one.  After ``period`` iterations the versions of tiles come round."""

    symbol: int
    start: int
    extent: int
    period: int
    body: Statement


class Branch:
    """A condition around statements: decided where it is known, else a part of a copy."""

    def __init__(self, reader: Reader, stmt: tirx.IfThenElse) -> None:
        self._reader = reader
        self._stmt = stmt
        variables: set[Var] = set()
        tvm_ffi.structural_walk(stmt.condition, (Var, lambda var: variables.add(var)))
        symbols = [reader.symbols[var] for var in variables if var in reader.symbols]
        self._symbols = {key for form in symbols for key, _ in form.items}
        self._is_known = len(symbols) == len(variables)

    def holds(self, values: Values) -> bool | None:
        """Whether the condition does; None where more is to be known for that."""
        if not self._is_known or not all(symbol in values for symbol in self._symbols):
            return None
        forms = [undivided(form.substitute(values)) for form in self._forms]
        if not forms or not all(form.is_const for form in forms):
            return None
        return all(form.const >= 0 for form in forms)

    @cached_property
    def _forms(self) -> list[Linear]:
        return comparisons(self._stmt.condition, self._reader.symbols)

    @cached_property
    def then(self) -> Statement:
        """What is done where the condition holds."""
        return self._reader.statement(self._stmt.then_case)

    @cached_property
    def otherwise(self) -> Statement:
        """What is done where it does not."""
        case = self._stmt.else_case
        return Sequence(()) if case is None else self._reader.statement(case)

    @cached_property
    def whole(self) -> Statement:
        """The statement with its condition."""
        return self._reader.nest(self._stmt)


class Nest:
    """A perfect nest around a copy or the array's step.

    ``n_loops`` of TensorIR are around it; ``loops`` are those of more than one iteration, by their
    symbols, in which a loop over the pixels of wide sums is two: over steps, and over the rows of
    a step.
    """

    def __init__(
        self,
        reader: Reader,
        loops: list[tirx.For],
        guards: list[tirx.Expr],
        leaf: BufferStore | tirx.Evaluate,
    ) -> None:
        self._reader = reader
        self._leaf = leaf
        self._guards = guards
        self.n_loops = len(loops)
        self.woven = bool(loops) and WOVEN in loops[0].annotations
        numbers = {stmt.loop_var: reader.fresh() for stmt in loops}
        inner = {**reader.symbols, **{var: Linear.loop(n) for var, n in numbers.items()}}
        accesses = reader.tile_accesses(leaf, inner)
        self._touched = [
            (placement, indices[0] if versioned else Linear())
            for placement, versioned, indices in accesses
        ]
        steps = _wide_pixels(loops, numbers, accesses) if isinstance(leaf, BufferStore) else {}
        self._symbols = dict(reader.symbols)
        self.loops: list[LoopExtent] = []
        for stmt in loops:
            extent = constant(stmt.extent)
            rows = steps.get(stmt.loop_var, extent)
            value = Linear(constant(stmt.min))
            for count, size in ((extent // rows, rows), (rows, 1)):
                if count > 1:
                    self.loops.append(LoopExtent(reader.fresh(), count))
                    value = value + Linear.loop(self.loops[-1].loop_id) * size
            self._symbols[stmt.loop_var] = value

    def touched(self, values: Values) -> list[Touched]:
        """The tiles that are read or written, with the version where they have several."""
        return [Touched(tile, version.substitute(values)) for tile, version in self._touched]


class CopyNest(Nest):
    """A nest around a store."""

    def copy(self, values: Values) -> Load | Store:
        """What the store does."""
        return self._copy.at(values)

    @cached_property
    def _copy(self) -> Load | Store:
        return recognise(self._leaf, self._guards, self._symbols, self._reader.local)


class StepNest(Nest):
    """A nest around the array's step."""

    def step(self, values: Values) -> ArrayStep:
        """The step's rows."""
        step = self._step
        a, b, c = (form.substitute(values) for form in (step.a, step.b, step.c))
        return step._replace(a=a, b=b, c=c)

    @cached_property
    def _step(self) -> ArrayStep:
        arguments = self._leaf.value.args
        a, b, c = (self._row(argument) for argument in arguments[1:4])
        rows, step = (int(argument.value) for argument in arguments[4:6])
        return ArrayStep(a, b, c, rows, step)

    def _row(self, argument: tirx.Expr) -> Linear:
        """The row that ``address_of`` a tile's element names."""
        load = argument.args[0]
        indices = [linear(index, self._symbols) for index in load.indices]
        row, column = self._reader.local(load.source, indices)
        if column != Linear():
            raise CodegenError(f"{argument} is not the start of a row")
        return row


Statement = Sequence | Unsupported | Repeat | Branch | CopyNest | StepNest


class Reader:
    """Reads statements, whose tiles lie at ``placements``; those in ``versions`` have several."""

    def __init__(self, placements: Mapping[str, Placement], versions: Mapping[str, int]) -> None:
        self._placements = placements
        self._versions = versions
        self._n_symbols = 0
        self.symbols: dict[Var, Linear] = {}  # of the loops that are no part of a nest

    def statement(self, stmt: tirx.Stmt) -> Statement:
        """A statement with all that is in it."""
        if isinstance(stmt, tirx.IfThenElse):
            return Branch(self, stmt)
        if isinstance(stmt, tirx.SeqStmt):
            return Sequence(tuple(self.statement(part) for part in stmt.seq))
        if isinstance(stmt, tirx.AllocBuffer):
            return Sequence(())
        return self.nest(stmt)

    def nest(self, stmt: tirx.Stmt) -> Statement:
        """A statement that is a nest around a copy or a step, or else a loop."""
        loops: list[tirx.For] = []
        guards: list[tirx.Expr] = []
        leaf = stmt
        while True:
            if isinstance(leaf, tirx.For):
                loops.append(leaf)
                leaf = leaf.body
            elif isinstance(leaf, tirx.IfThenElse) and leaf.else_case is None:
                guards.append(leaf.condition)
                leaf = leaf.then_case
            else:
                break
        if isinstance(leaf, BufferStore):
            return CopyNest(self, loops, guards, leaf)
        if isinstance(leaf, tirx.Evaluate) and not guards:
            if isinstance(leaf.value, tirx.IntImm):
                return Sequence(())
            if not is_gemm(leaf.value):
                return Unsupported(f"no command performs `{leaf.value}`")
            return StepNest(self, loops, guards, leaf)
        if isinstance(stmt, tirx.For):
            return self._repeat(stmt)
        return Unsupported(f"no command performs `{stmt}`")

    def fresh(self) -> int:
        """A symbol that stands for no loop yet."""
        self._n_symbols += 1
        return -self._n_symbols

    def local(self, buffer: tirx.Buffer, indices: list[Linear]) -> tuple[Linear, Linear]:
        """Row and column of an element of a tile."""
        placement = self._placements[buffer.name]
        row = Linear(placement.row)
        for index, stride in zip(indices[:-1], placement.strides, strict=True):
            row = row + index * stride
        if placement.wide is not None:
            # What is no multiple of a step's rows stays inside of a step: `Nest` sees to it.
            rows, step = placement.wide
            pixel = indices[-2]
            steps = {key: value // rows for key, value in pixel.items if value % rows == 0}
            row = row + Linear.of(pixel.const // rows, steps) * (step - rows)
        return row, indices[-1]

    def tile_accesses(
        self, stmt: tirx.Stmt, env: Mapping[Var, Linear]
    ) -> list[tuple[Placement, bool, list[Linear]]]:
        """The tiles that a statement reads or writes, whether they have versions, the indices."""
        found: list[tuple[Placement, bool, list[Linear]]] = []

        def visit(buffer: tirx.Buffer, indices: list[tirx.Expr]) -> None:
            placement = self._placements.get(buffer.name)
            if placement is not None and buffer.scope() in (SCRATCHPAD, ACCUMULATOR):
                forms = [linear(index, env) for index in indices]
                found.append((placement, buffer.name in self._versions, forms))

        _walk_accesses(stmt, visit)
        return found

    def _repeat(self, stmt: tirx.For) -> Repeat:
        extent, symbol = constant(stmt.extent), self.fresh()
        unrolled = stmt.kind == tirx.ForKind.UNROLLED
        period = extent if unrolled else min(_period(stmt), extent)
        self.symbols[stmt.loop_var] = Linear.loop(symbol)
        body = self.statement(stmt.body)
        return Repeat(symbol, constant(stmt.min), extent, period, body)


def constant(value: tirx.Expr) -> int:
    """The number that an expression is.  Raises CodegenError for any other."""
    if not isinstance(value, tirx.IntImm):
        raise CodegenError(f"loop bound or extent {value} is not a constant")
    return int(value.value)


def _wide_pixels(
    loops: list[tirx.For],
    symbols: Mapping[Var, int],
    accesses: list[tuple[Placement, bool, list[Linear]]],
) -> dict[Var, int]:
    """The loops over the pixels of several steps of wide sums that a nest loads or stores, with
    the rows of a step."""
    found: dict[Var, int] = {}
    for placement, _, indices in accesses:
        if placement.wide is None:
            continue
        rows, _ = placement.wide
        for stmt in loops:
            one_by_one = indices[-2].coefficient(symbols[stmt.loop_var]) == 1
            if one_by_one and constant(stmt.extent) > rows:
                found[stmt.loop_var] = rows
    return found


def _walk_accesses(stmt: tirx.Stmt, visit: Callable[[tirx.Buffer, list[tirx.Expr]], None]) -> None:
    """Call ``visit`` with the buffer and the indices of every load and store."""
    tvm_ffi.structural_walk(
        stmt,
        (
            (TensorLoad, lambda load: visit(load.source, load.indices)),
            (BufferStore, lambda store: visit(store.buffer, store.indices)),
        ),
    )


def _period(loop: tirx.For) -> int:
    """After how many iterations the versions of tiles that a loop alternates between come
    round.  Only the addresses of tiles count: they are in every command of the array."""
    divisors: list[int] = []

    def visit(node: tirx.FloorMod) -> None:
        if isinstance(node.b, tirx.IntImm) and _uses(node.a, loop.loop_var):
            divisors.append(int(node.b.value))

    def visit_tile(buffer: tirx.Buffer, indices: list[tirx.Expr]) -> None:
        if buffer.scope() in (SCRATCHPAD, ACCUMULATOR):
            for index in indices:
                if not isinstance(index, (Var, tirx.IntImm)):
                    tvm_ffi.structural_walk(index, (tirx.FloorMod, visit))

    _walk_accesses(loop.body, visit_tile)
    return math.lcm(1, *divisors)


def _uses(node: tirx.Expr, variable: Var) -> bool:
    found: list[Var] = []
    tvm_ffi.structural_walk(
        node, (Var, lambda inner: found.append(inner) if inner.same_as(variable) else None)
    )
    return bool(found)
