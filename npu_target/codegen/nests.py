"""Perfect nests around one statement: what they do, with the loops around them as symbols.

What is found out of TensorIR is kept, as forms over symbols (:mod:`npu_target.codegen.reader`); a
visit puts in the values of the loops around.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, Memory
from ..device.copy_rules import CopyRules
from ..intrin import ENDS, HALVED, PACKED, StepCall
from ..packing import Packing
from ..passes.boundaries import split_boundaries
from ..passes.bounds import least
from ..passes.copies import Load, Store, recognise
from ..passes.errors import CodegenError
from ..passes.linear import Linear, all_linear, combine, constant, linear
from ..passes.memory import Placement
from ..passes.named import text_of
from ..passes.stacks import stacked
from ..passes.transfers import LoopExtent, Transfer, plan_transfer
from .dependences import Touched
from .steps import Step

Values = Mapping[int, Linear]  # of symbols
# A tile, whether it has versions, and the indices of an element of it.
Access = tuple[Placement, bool, list[tirx.Expr]]
CopyPart = tuple[Load | Store, tuple[LoopExtent, ...]]


class TileReader(Protocol):
    """What nests ask the reader of the function that they are in."""

    config: DeviceConfig
    packings: Mapping[str, Packing]  # of arguments
    symbols: dict[Var, Linear]  # of the loops around
    extents: dict[int, int]  # of those, by their symbols

    def fresh(self) -> int:
        """A symbol that stands for no loop yet."""

    def local(self, buffer: tirx.Buffer, indices: list[Linear]) -> tuple[Linear, Linear]:
        """Row and column of an element of a tile."""

    def tile_accesses(self, stmt: tirx.Stmt) -> list[Access]:
        """The tiles that a statement reads or writes."""

    def wide_pixels(self, loops: list[tirx.For], accesses: list[Access]) -> dict[Var, int]:
        """The loops over the pixels of several steps of wide sums, with the rows of a step."""


class Nest:
    """A perfect nest around a copy or a step.

    ``n_loops`` of TensorIR are around it; ``loops`` are those of more than one iteration, by their
    symbols, in which a loop over the pixels of wide sums is two: over steps, and over the rows of
    a step.  ``sums`` is the name of the tile of sums that it writes, if it does.
    """

    def __init__(
        self,
        reader: TileReader,
        loops: list[tirx.For],
        guards: list[tirx.Expr],
        leaf: BufferStore | tirx.Evaluate,
        written: tirx.Buffer,
    ) -> None:
        self._reader = reader
        self.leaf = leaf
        self._guards = guards
        self.sums = (
            str(written.name) if written.scope() == reader.config.memories.sums.scope else None
        )
        self.n_loops = len(loops)
        accesses = reader.tile_accesses(leaf)
        steps = {}
        if isinstance(leaf, BufferStore) and any(tile.wide for tile, _, _ in accesses):
            steps = reader.wide_pixels(loops, accesses)
        self._symbols = dict(reader.symbols)
        self.loops: list[LoopExtent] = []
        for stmt in loops:
            variable, extent = stmt.loop_var, constant(stmt.extent)
            rows = steps.get(variable, extent) if steps else extent
            value = Linear(constant(stmt.min))
            for count, size in ((extent // rows, rows), (rows, 1)):
                if count > 1:
                    self.loops.append(LoopExtent(reader.fresh(), count, str(variable.name)))
                    value = value + Linear.loop(self.loops[-1].loop_id) * size
            self._symbols[variable] = value
        self._is_versioned = any(versioned for _, versioned, _ in accesses)
        self._touched = [
            Touched(tile, linear(indices[0], self._symbols) if versioned else Linear())
            for tile, versioned, indices in accesses
        ]

    @property
    def text(self) -> str:
        """The statement that it is around, without the declarations of its variables."""
        return text_of(self.leaf)

    def touched(self, values: Values) -> list[Touched]:
        """The tiles that are read or written, with the version where they have several."""
        key = tuple([values.get(symbol) for symbol in self._deciding_versions])
        found = self._found_touched.get(key)
        if found is None:
            versions = [one.version.substitute(values) for one in self._touched]
            tiles = [one.tile for one in self._touched]
            found = self._found_touched[key] = list(map(Touched, tiles, versions))
        return found

    @cached_property
    def _deciding_versions(self) -> list[int]:
        """The symbols on which the versions depend."""
        return sorted(set().union(*[one.version.variables() for one in self._touched]))

    @cached_property
    def _found_touched(self) -> dict[tuple[Linear | None, ...], list[Touched]]:
        """By the values of those: the same iteration is come to several times."""
        return {}


class CopyNest(Nest):
    """A nest around a store."""

    def __init__(
        self,
        reader: TileReader,
        loops: list[tirx.For],
        guards: list[tirx.Expr],
        leaf: BufferStore,
    ) -> None:
        super().__init__(reader, loops, guards, leaf, leaf.buffer)
        # Whether the steps come to what it loads in halves, by turns.
        self.is_halved = any(HALVED in loop.annotations for loop in loops)
        # Whether the first steps, or the last ones, come in another order for its sake.
        self.orders_ends = any(ENDS in loop.annotations for loop in loops)

    def deciding(self, values: Values) -> dict[int, Linear]:
        """Of the values of loops around, those that decide how the nest's loops are dealt with."""
        return {symbol: values[symbol] for symbol in self._deciding}

    def transfers(self, deciding: Values, rules: CopyRules) -> list[tuple[Load | Store, Transfer]]:
        """What the store does, part by part, and how, where these are the values that decide."""
        parts = split_boundaries(self.copy.at(deciding), self._copy[1], rules)
        return [x for part, around in parts for x in self._plan(part, around, rules)]

    def _plan(
        self, part: Load | Store, around: tuple[LoopExtent, ...], rules: CopyRules
    ) -> list[tuple[Load | Store, Transfer]]:
        transfer = plan_transfer(part, around, rules)
        columns = transfer.columns
        if columns.is_const and columns.const < 1:  # nothing satisfies the conditions
            if isinstance(part, Store) or part.accumulate or not rules.writes_unread_columns(part):
                return []
            filled = rules.filled(part)
            return [(filled, plan_transfer(filled, around, rules))]
        if self._may_lack_columns and not columns.is_const:
            guards = (*transfer.guards, columns - 1)
            columns = combine("max", columns, Linear(1))
            transfer = transfer._replace(guards=guards, columns=columns)
        return [(part, transfer)]

    @cached_property
    def _may_lack_columns(self) -> bool:
        """Whether there may be rows of which no column satisfies the conditions."""
        extents = {loop.loop_id: loop.extent for loop in self._copy[1]} | self._reader.extents
        column = self.copy.column.variables()
        forms = [form.without(*column) for form in self.copy.valid if form.variables() & column]
        return any(least(form, extents) < 0 for form in forms)

    @property
    def is_guarded(self) -> bool:
        """Whether it copies some of its rows under a condition only."""
        return bool(self._guards)

    @cached_property
    def is_load(self) -> bool:
        """Whether it writes a tile, not DRAM."""
        return self.leaf.buffer.scope() in self._reader.config.memories.scopes

    @cached_property
    def tile(self) -> str:
        """The name of the tile that it writes, or that it reads."""
        if self.is_load:
            return str(self.leaf.buffer.name)
        names: list[str] = []
        tvm_ffi.structural_walk(
            self.leaf.value, (TensorLoad, lambda load: names.append(str(load.source.name)))
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
        if not isinstance(copy, Load) or copy.source is not None:
            return False
        return copy.fill == 0 and not copy.accumulate

    @cached_property
    def _deciding(self) -> list[int]:
        """The symbols of loops around whose values decide how the nest's loops are dealt with:
        those of conditions, and those of which and of the nest's loops something is no sum."""
        copy, own = self.copy, [loop.loop_id for loop in self.parts[0][1]]
        forms = [*copy.valid]
        places = [copy.row, copy.column, copy.offset]
        if isinstance(copy, Store):
            places.append(copy.block)
        for form in places:
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
                f"argument {copy.source} is packed for another load, `{self.text}` takes it as it "
                f"is: mark all of its loads {PACKED}, or none",
                self.leaf,
            )
        reader = self._reader
        return stacked(copy, tuple(self.loops), reader.fresh, reader.config.memories)

    @property
    def parts(self) -> list[CopyPart]:
        """What it does, as copies that are each in loops of their own."""
        return [self._copy]

    def _recognised(self) -> Load | Store:
        reader = self._reader
        return recognise(self.leaf, self._guards, self._symbols, reader.local, reader.config)


class StepNest(Nest):
    """A nest around a step."""

    def __init__(
        self, reader: TileReader, loops: list[tirx.For], leaf: tirx.Evaluate, call: StepCall
    ) -> None:
        self._call = call
        super().__init__(reader, loops, [], leaf, call.written.source)

    @property
    def tiles(self) -> list[str]:
        """The names of the tiles of its operands."""
        return [str(element.source.name) for element in self._call.elements]

    @property
    def memories(self) -> list[Memory | None]:
        """The memories of its operands."""
        memories = self._reader.config.memories
        return [memories.find(element.source.scope()) for element in self._call.elements]

    def step(self, values: Values) -> Step:
        """The step's rows."""
        return self._step.substitute(values)

    @cached_property
    def _step(self) -> Step:
        call = self._call
        rows = tuple(map(self._row, call.elements))
        return Step(call.intrinsic, call.operands, rows, call.numbers)

    def _row(self, element: TensorLoad) -> Linear:
        """The row that the element of a tile is the first of."""
        indices = all_linear(element.indices, self._symbols)
        row, column = self._reader.local(element.source, indices)
        if column != Linear():
            raise CodegenError(f"`{self.text}`: {element} is not the start of a row", self.leaf)
        return row
