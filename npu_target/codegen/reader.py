"""Reads the statements of a lowered function, once.

TensorIR is slow to look at from Python, and the code generator comes to a statement several times.
So index expressions become forms over *symbols*, numbers below 0 that stand for the variables of
loops, and a visit puts in their values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, kind_of
from ..intrin import PACKED, WIDE, step_call
from ..packing import Packing
from ..passes.bounds import least
from ..passes.errors import CodegenError, about
from ..passes.linear import Linear, constant, linear
from ..passes.memory import Placement
from ..passes.packings import packed_element
from .nests import Access, CopyNest, StepNest
from .packed import PackedNest
from .statements import Branch, Repeat, Sequence, Statement, Unsupported


class Reader:
    """Reads statements, whose tiles lie at ``placements``; those in ``versions`` have several.
    Arguments in ``packings`` lie in DRAM as these say."""

    def __init__(
        self,
        placements: Mapping[str, Placement],
        versions: Mapping[str, int],
        config: DeviceConfig,
        packings: Mapping[str, Packing] = MappingProxyType({}),
    ) -> None:
        self.config = config
        self._intrinsics = kind_of(config).intrinsics(config)
        self.packings = packings
        self._placements = placements
        self._versions = versions
        self._n_symbols = 0
        # What indices of tiles are taken modulo, and the variables of what is divided.
        self._moduli: list[tuple[int, list[Var]]] = []
        self.symbols: dict[Var, Linear] = {}  # of the loops that are no part of a nest
        self.extents: dict[int, int] = {}  # of those, by their symbols
        self._around: list[int] = []  # those that a statement is in now
        # Of a tile the loops that it is allocated in (several of a name, where loops are in parts):
        # what it holds is of one iteration of theirs.
        self.allocated_in: dict[str, set[int]] = {}

    def statement(self, stmt: tirx.Stmt) -> Statement:
        """A statement with all that is in it."""
        if isinstance(stmt, tirx.IfThenElse):
            return self._branch(stmt)
        if isinstance(stmt, tirx.SeqStmt):
            return Sequence(tuple(self.statement(part) for part in stmt.seq))
        if isinstance(stmt, tirx.AllocBuffer):
            self.allocated_in.setdefault(str(stmt.buffer.name), set()).update(self._around)
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
                element = packed_element(leaf, self.config.memories.weights.dtype)
                packing = self.packings[element.source.name]
                with about(leaf):
                    return PackedNest(self, loops, guards, leaf, packing)
            with about(leaf):
                return CopyNest(self, loops, guards, leaf)
        if isinstance(leaf, tirx.Evaluate) and not guards:
            if isinstance(leaf.value, tirx.IntImm):
                return Sequence(())
            call = step_call(leaf.value, self._intrinsics)
            if call is None:
                return Unsupported(f"no command performs `{leaf.value}`", leaf)
            with about(leaf):
                return StepNest(self, loops, leaf, call)
        if isinstance(stmt, tirx.For):
            return self._repeat(stmt)
        if isinstance(leaf, tirx.IfThenElse):
            return Unsupported(
                f"`if {leaf.condition}` has an `else`, and holds in some iterations of a loop that "
                "stays one: write a condition of its own for each of the two cases",
                leaf,
            )
        if guards:
            what = "steps are" if isinstance(leaf, tirx.Evaluate) else "several statements are"
            return Unsupported(
                f"{what} done only where `{guards[-1]}`, in some iterations of a loop that stays "
                "one: split that loop where the condition changes, or by what divides it",
                leaf,
            )
        return Unsupported(f"no command performs `{stmt}`", leaf)

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
            if placement is not None and buffer.scope() in self.config.memories.scopes:
                indices = indices[:]
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

    def wide_pixels(self, loops: list[tirx.For], accesses: list[Access]) -> dict[Var, int]:
        """The loops over the pixels of several steps of wide sums that a nest loads or stores, with
        the rows of a step.  Raises CodegenError where it begins or ends inside of a step."""
        numbers = {stmt.loop_var: self.fresh() for stmt in loops}
        own = set(numbers.values())  # of which one over more rows is two, over steps and rows
        env = {**self.symbols, **{var: Linear.loop(n) for var, n in numbers.items()}}
        found: dict[Var, int] = {}
        extents = self.extents | {numbers[stmt.loop_var]: constant(stmt.extent) for stmt in loops}
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
                if value == 1 and key in own and extents[key] % rows == 0:
                    in_step = in_step + (rows - 1)
                elif value % rows:
                    in_step = in_step + Linear.of(0, {key: value})
            if least(in_step * -1 + (rows - 1), extents) < 0:
                raise CodegenError(
                    f"sums that lie side by side in steps of {rows} rows are copied from row "
                    f"`{indices[-2]}` on, inside of a step; take whole steps, or leave out the "
                    f"mark {WIDE}"
                )
        return found

    def _branch(self, stmt: tirx.IfThenElse) -> Branch:
        then = self.statement(stmt.then_case)
        case = stmt.else_case
        otherwise = Sequence(()) if case is None else self.statement(case)
        whole = partial(self.nest, stmt)
        return Branch(stmt.condition, self.symbols, then, otherwise, whole)

    def _repeat(self, stmt: tirx.For) -> Repeat:
        extent, symbol = constant(stmt.extent), self.fresh()
        self.symbols[stmt.loop_var] = Linear.loop(symbol)
        self.extents[symbol] = constant(stmt.min) + extent
        before = len(self._moduli)
        self._around.append(symbol)
        body = self.statement(stmt.body)
        self._around.pop()
        if stmt.kind == tirx.ForKind.UNROLLED:
            period = extent
        else:
            # Only the addresses of tiles count: they are in every step's commands.
            moduli = self._moduli[before:]
            period = math.lcm(1, *(n for n, vars in moduli if _holds(vars, stmt.loop_var)))
        name = str(stmt.loop_var.name)
        return Repeat(name, symbol, constant(stmt.min), extent, min(period, extent), body)


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
