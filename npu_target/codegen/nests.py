"""The statements of a lowered function as the code generator walks them, read once.

The generator comes to a statement several times: for the first iteration of a loop, for the
others, for the copies that it leaves waiting.  Only the values of the loops around differ.  So
TensorIR, which is slow to look at from Python, is read once: index expressions become forms over
*symbols*, numbers below 0 that stand for the variables of loops, and a visit puts in their values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig
from ..intrin import ACCUMULATOR, PACKED, SCRATCHPAD, WIDE, is_gemm
from ..packing import Packing
from ..passes.bounds import least
from ..passes.copies import Load, Store, recognise
from ..passes.errors import CodegenError
from ..passes.linear import Linear, combine, comparisons, linear, undivided
from ..passes.memory import Placement
from ..passes.packings import packed_element, tile_number
from ..passes.stacks import stacked
from ..passes.transfers import (
    LoopExtent,
    Transfer,
    nothing,
    plan_transfer,
    split_boundaries,
)
from .dependences import Touched
from .steps import ArrayStep

Values = Mapping[int, Linear]  # of symbols
# A tile, whether it has versions, and the indices of an element of it.
Access = tuple[Placement, bool, list[tirx.Expr]]
CopyPart = tuple[Load | Store, tuple[LoopExtent, ...]]


@dataclass(frozen=True)
class Sequence:
    """Statements one after another."""

    parts: tuple[Statement, ...]


@dataclass(frozen=True)
class Unsupported:
    """A statement that is an error where it is come to."""

    text: str


@dataclass(frozen=True, eq=False)
class Repeat:
    """A loop that stays one.  After ``period`` iterations the versions of tiles that it alternates
    between come round."""

    name: str
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
        # Of the loops around on which it depends.
        self.symbols = {key for form in symbols for key, _ in form.items}
        self._is_known = len(symbols) == len(variables)
        # What is done where the condition holds, and where it does not.
        self.then = reader.statement(stmt.then_case)
        case = stmt.else_case
        self.otherwise = Sequence(()) if case is None else reader.statement(case)

    def holds(self, values: Values) -> bool | None:
        """Whether the condition does; None where more is to be known for that."""
        if not self._is_known or not all(symbol in values for symbol in self.symbols):
            return None
        forms = [undivided(form.substitute(values)) for form in self._forms]
        if not forms or not all(form.is_const for form in forms):
            return None
        return all(form.const >= 0 for form in forms)

    @cached_property
    def _forms(self) -> list[Linear]:
        return comparisons(self._stmt.condition, self._reader.symbols)

    @cached_property
    def whole(self) -> Statement:
        """The statement with its condition."""
        return self._reader.nest(self._stmt)


class Nest:
    """A perfect nest around a copy or the array's step.

    ``n_loops`` of TensorIR are around it; ``loops`` are those of more than one iteration, by their
    symbols, in which a loop over the pixels of wide sums is two: over steps, and over the rows of
    a step.  ``sums`` is the name of the tile in the accumulator that it writes, if it does.
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
        written = (
            leaf.buffer if isinstance(leaf, BufferStore) else leaf.value.args[3].args[0].source
        )
        self.sums = str(written.name) if written.scope() == ACCUMULATOR else None
        self.n_loops = len(loops)
        accesses = reader.tile_accesses(leaf)
        steps = {}
        if isinstance(leaf, BufferStore) and any(tile.wide for tile, _, _ in accesses):
            steps = _wide_pixels(loops, reader, accesses)
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
        self._is_versioned = any(versioned for _, versioned, _ in accesses)
        self._touched = [
            (tile, linear(indices[0], self._symbols) if versioned else Linear())
            for tile, versioned, indices in accesses
        ]

    def touched(self, values: Values) -> list[Touched]:
        """The tiles that are read or written, with the version where they have several."""
        return [Touched(tile, version.substitute(values)) for tile, version in self._touched]


class CopyNest(Nest):
    """A nest around a store."""

    def transfers(
        self, values: Values, config: DeviceConfig
    ) -> list[tuple[Load | Store, Transfer]]:
        """What the store does, part by part, and how."""
        known = {symbol: values[symbol] for symbol in self._deciding}
        plan = self._plans.get(key := tuple(known.values()))
        if plan is None:
            parts = split_boundaries(self.copy.at(known), self._copy[1], config)
            plan = [x for part, around in parts for x in self._plan(part, around, config)]
            self._plans[key] = plan
        return [(part.at(values), transfer.at(values)) for part, transfer in plan]

    def _plan(
        self, part: Load | Store, around: tuple[LoopExtent, ...], config: DeviceConfig
    ) -> list[tuple[Load | Store, Transfer]]:
        transfer = plan_transfer(part, around, config)
        columns = transfer.columns
        if columns.is_const and columns.const < 1:  # nothing satisfies the conditions
            if isinstance(part, Store) or part.accumulate:
                return []
            if part.shrunk:  # of the first block some always do
                return []
            zeros = nothing(part)
            return [(zeros, plan_transfer(zeros, around, config))]
        if self._may_lack_columns and not columns.is_const:
            guards = (*transfer.guards, columns - 1)
            columns = combine("max", columns, Linear(1))
            transfer = transfer._replace(guards=guards, columns=columns)
        return [(part, transfer)]

    @cached_property
    def _may_lack_columns(self) -> bool:
        """Whether there may be rows of which no column satisfies the conditions."""
        extents = {loop.loop_id: loop.extent for loop in self.loops} | self._reader.extents
        column = self.copy.column.variables()
        forms = [form.without(*column) for form in self.copy.valid if form.variables() & column]
        return any(least(form, extents) < 0 for form in forms)

    @property
    def is_load(self) -> bool:
        """Whether it writes a tile, not DRAM."""
        return self._leaf.buffer.scope() in (SCRATCHPAD, ACCUMULATOR)

    @cached_property
    def tile(self) -> str:
        """The name of the tile that it writes, or that it reads."""
        if self.is_load:
            return str(self._leaf.buffer.name)
        names: list[str] = []
        tvm_ffi.structural_walk(
            self._leaf.value, (TensorLoad, lambda load: names.append(str(load.source.name)))
        )
        return names[0]

    @cached_property
    def is_static(self) -> bool:
        """Whether it is the same copy, to the same rows, whatever the iteration of loops around."""
        return not self._deciding and not self._is_versioned

    @property
    def is_zeros(self) -> bool:
        """Whether it sets a tile to zero, and does nothing else."""
        copy = self.copy
        return isinstance(copy, Load) and copy.source is None and not copy.accumulate

    @cached_property
    def _plans(self) -> dict[tuple[Linear, ...], list[tuple[Load | Store, Transfer]]]:
        """By the values that decide them."""
        return {}

    @cached_property
    def _deciding(self) -> list[int]:
        """The symbols of loops around whose values decide how the nest's loops are dealt with:
        those of conditions, and those of which and of the nest's loops something is no sum."""
        copy, own = self.copy, [loop.loop_id for loop in self.loops]
        forms = [*copy.valid]
        for form in (copy.row, copy.column, copy.offset):
            if not all(form.is_linear_in(symbol) for symbol in own):
                forms.append(form)
        return sorted(set().union(*(form.variables() for form in forms)).difference(own))

    @property
    def copy(self) -> Load | Store:
        """What the store does, in symbols."""
        return self._copy[0]

    @cached_property
    def _copy(self) -> CopyPart:
        """What it does, and in which loops the commands do it."""
        copy = self._recognised()
        if isinstance(copy, Load) and copy.source in self._reader.packings:
            raise CodegenError(
                f"argument {copy.source} is packed for another load, `{self._leaf}` takes it as it "
                f"is: mark all of its loads {PACKED}, or none"
            )
        return stacked(copy, tuple(self.loops), self._reader.fresh)

    @property
    def parts(self) -> list[CopyPart]:
        """What it does, as copies that are each in loops of their own."""
        return [self._copy]

    def _recognised(self) -> Load | Store:
        return recognise(self._leaf, self._guards, self._symbols, self._reader.local)


class PackedNest(CopyNest):
    """A nest around a load of packed weights: its tile lies in DRAM as in the scratchpad, in loads
    of whole lines."""

    def __init__(
        self, reader: Reader, loops: list[tirx.For], leaf: BufferStore, packing: Packing
    ) -> None:
        super().__init__(reader, loops, [], leaf)
        own = [loop.loop_id for loop in self.loops]
        indices = [linear(index, self._symbols) for index in packed_element(leaf).indices]
        as_it_is = self._recognised()
        first_row = as_it_is.row.without(*own)
        tile = tile_number(packing, [index.without(*own) for index in indices])
        dim, line = packing.dim, packing.blocks * packing.dim
        whole, rest = divmod(packing.tile_blocks, packing.blocks)
        self.loops = []
        self._parts: list[CopyPart] = []
        for first, loads, blocks in ((0, whole, packing.blocks), (whole, 1, rest)):
            if not blocks:
                continue
            every = [LoopExtent(reader.fresh(), extent) for extent in (loads, blocks, dim, dim)]
            around = tuple(loop for loop in every if loop.extent > 1)
            if loads > 1:
                self.loops.append(around[0])
            by = [Linear.loop(loop.loop_id) if loop.extent > 1 else Linear() for loop in every]
            load, block, row, column = by
            number = load + first
            part = as_it_is._replace(
                row=first_row + (number * packing.blocks + block) * dim + row,
                column=column,
                offset=(tile * packing.tile_loads + number) * packing.load_elements
                + row * line
                + block * dim
                + column,
                valid=(),
            )
            self._parts.append((part, around))

    def transfers(
        self, values: Values, config: DeviceConfig
    ) -> list[tuple[Load | Store, Transfer]]:
        plans = [(part, plan_transfer(part, loops, config)) for part, loops in self._parts]
        return [(part.at(values), plan.at(values)) for part, plan in plans]

    @cached_property
    def copy(self) -> Load | Store:
        return self._parts[0][0]

    @property
    def parts(self) -> list[CopyPart]:
        return self._parts


class StepNest(Nest):
    """A nest around the array's step."""

    @property
    def tiles(self) -> list[str]:
        """The names of the tiles of its operands A and B and of its sums."""
        return [str(argument.args[0].source.name) for argument in self._leaf.value.args[1:4]]

    def step(self, values: Values) -> ArrayStep:
        """The step's rows."""
        return self._step.substitute(values)

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


# A packed nest is a copy.
Statement = Sequence | Unsupported | Repeat | Branch | CopyNest | StepNest


class Reader:
    """Reads statements, whose tiles lie at ``placements``; those in ``versions`` have several.
    Arguments in ``packings`` lie in DRAM as these say."""

    def __init__(
        self,
        placements: Mapping[str, Placement],
        versions: Mapping[str, int],
        packings: Mapping[str, Packing] = MappingProxyType({}),
    ) -> None:
        self.packings = packings
        self._placements = placements
        self._versions = versions
        self._n_symbols = 0
        # What indices of tiles are taken modulo, and the variables of what is divided.
        self._moduli: list[tuple[int, list[Var]]] = []
        self.symbols: dict[Var, Linear] = {}  # of the loops that are no part of a nest
        self.extents: dict[int, int] = {}  # of those, by their symbols

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
            marked = [PACKED in loop.annotations for loop in loops]
            if any(marked):
                if not marked[0]:
                    return self._repeat(stmt)
                packing = self.packings[packed_element(leaf).source.name]
                return PackedNest(self, loops, leaf, packing)
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

    def tile_accesses(self, stmt: tirx.Stmt) -> list[Access]:
        """The tiles that a statement reads or writes, whether they have versions, the indices."""
        found: list[Access] = []

        def visit(buffer: tirx.Buffer, indices: list[tirx.Expr]) -> None:
            placement = self._placements.get(buffer.name)
            if placement is not None and buffer.scope() in (SCRATCHPAD, ACCUMULATOR):
                indices = list(indices)
                found.append((placement, buffer.name in self._versions, indices))
                for index in indices:
                    _collect_moduli(index, self._moduli)

        tvm_ffi.structural_walk(
            stmt,
            (
                (TensorLoad, lambda load: visit(load.source, load.indices)),
                (BufferStore, lambda store: visit(store.buffer, store.indices)),
            ),
        )
        return found

    def _repeat(self, stmt: tirx.For) -> Repeat:
        extent, symbol = constant(stmt.extent), self.fresh()
        self.symbols[stmt.loop_var] = Linear.loop(symbol)
        self.extents[symbol] = constant(stmt.min) + extent
        before = len(self._moduli)
        body = self.statement(stmt.body)
        if stmt.kind == tirx.ForKind.UNROLLED:
            period = extent
        else:
            # Only the addresses of tiles count: they are in every command of the array.
            moduli = self._moduli[before:]
            period = math.lcm(1, *(n for n, vars in moduli if _holds(vars, stmt.loop_var)))
        name = str(stmt.loop_var.name)
        return Repeat(name, symbol, constant(stmt.min), extent, min(period, extent), body)


def constant(value: tirx.Expr) -> int:
    """The number that an expression is.  Raises CodegenError for any other."""
    if not isinstance(value, tirx.IntImm):
        raise CodegenError(f"loop bound or extent {value} is not a constant")
    return int(value.value)


def _wide_pixels(loops: list[tirx.For], reader: Reader, accesses: list[Access]) -> dict[Var, int]:
    """The loops over the pixels of several steps of wide sums that a nest loads or stores, with
    the rows of a step.  Raises CodegenError where it begins or ends inside of a step."""
    numbers = {stmt.loop_var: reader.fresh() for stmt in loops}
    env = {**reader.symbols, **{var: Linear.loop(n) for var, n in numbers.items()}}
    found: dict[Var, int] = {}
    extents = reader.extents | {numbers[stmt.loop_var]: constant(stmt.extent) for stmt in loops}
    for placement, _, indices in accesses:
        if placement.wide is None:
            continue
        rows, _ = placement.wide
        pixel = linear(indices[-2], env)
        for stmt in loops:
            one_by_one = pixel.coefficient(numbers[stmt.loop_var]) == 1
            if one_by_one and constant(stmt.extent) > rows:
                found[stmt.loop_var] = rows
        in_step = Linear(pixel.const % rows)  # at most, and what of it runs
        for key, value in pixel.items:
            if value == 1 and type(key) is int and extents[key] % rows == 0:
                in_step = in_step + (rows - 1)
            elif value % rows:
                in_step = in_step + Linear.of(0, {key: value})
        if least(in_step * -1 + (rows - 1), extents) < 0:
            raise CodegenError(
                f"sums that lie side by side in steps of {rows} rows are copied from row {pixel} "
                f"on, inside of a step; take whole steps, or leave out the mark {WIDE}"
            )
    return found


def _collect_moduli(node: tirx.Expr, found: list[tuple[int, list[Var]]]) -> list[Var]:
    """Add the constants that an index is taken modulo, each with the variables of what is divided;
    returns the variables of the index."""
    if isinstance(node, Var):
        return [node]
    if not hasattr(node, "a"):
        return _collect_moduli(node.value, found) if isinstance(node, tirx.Cast) else []
    variables = _collect_moduli(node.a, found)
    if isinstance(node, tirx.FloorMod) and isinstance(node.b, tirx.IntImm):
        found.append((int(node.b.value), variables))
    return [*variables, *_collect_moduli(node.b, found)]


def _holds(variables: list[Var], variable: Var) -> bool:
    return any(variable.same_as(other) for other in variables)
