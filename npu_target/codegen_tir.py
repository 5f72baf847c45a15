"""TensorIR to command programs.

A scheduled function is lowered (:mod:`npu_target.passes.lower`), its tiles get rows of the
device's memories (:mod:`npu_target.passes.memory`), and its loops are walked once: a nest around
a store becomes mvin or mvout commands, a nest around ``npu.gemm`` preloads and computes, any
other loop stays a loop of the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var
from tvm.tirx.buffer import BufferType

from . import expr
from .codegen_emit import Emitter
from .codegen_weave import weave
from .config import NpuConfig
from .intrin import ACCUMULATOR, SCRATCHPAD, WOVEN
from .isa import IsaError
from .passes.copies import recognise
from .passes.errors import CodegenError, DoesNotFit
from .passes.linear import Linear, conditions, linear
from .passes.lower import Lowered, lower
from .passes.memory import Placement, allocate
from .passes.tiles import is_gemm, tile_buffers
from .passes.transfers import LoopExtent, plan_transfer, split_boundaries
from .program import Arg, Loop, Node, Program

__all__ = ["CodegenError", "DoesNotFit", "build_program"]


def build_program(func: tirx.PrimFunc, config: NpuConfig, name: str) -> Program:
    """Compile one scheduled function.

    Parameters
    ----------
    func : the function, its tiles in the scopes ``global.scratchpad`` and ``global.accumulator``;
        the last argument is the output, the others are inputs.
    name : of the program, in messages and in the disassembly.

    Raises
    ------
    DoesNotFit
        if the tiles exceed a memory.
    CodegenError
        if a statement is none that the device performs.
    """
    try:
        args = _arguments(func)
        walk = _Walk(lower(func), config)
        emitter = Emitter(config, [arg.name for arg in args])
        body = walk.statement(walk.body, {}, emitter)
        if not emitter.settings_fit:
            emitter = Emitter(config, [arg.name for arg in args], configure_each_copy=True)
            body = walk.statement(walk.body, {}, emitter)
    except DoesNotFit as error:
        raise DoesNotFit(f"{name}: {error}") from error
    except (CodegenError, IsaError) as error:
        raise CodegenError(f"{name}: {error}") from error
    return Program(name, config, args, (*emitter.settings(), *body))


def _arguments(func: tirx.PrimFunc) -> tuple[Arg, ...]:
    last = len(func.params) - 1
    args = []
    for index, param in enumerate(func.params):
        if not isinstance(param.ty, BufferType):
            raise CodegenError(f"argument {param.name} is no tensor")
        shape = tuple(_constant(extent) for extent in param.shape)
        role = "output" if index == last else "input"
        args.append(Arg(param.name, role, str(param.dtype), shape))
    return tuple(args)


class _Walk:
    """One pass over the loops of a lowered function."""

    def __init__(self, lowered: Lowered, config: NpuConfig) -> None:
        self.body = lowered.func.body
        self.versions = lowered.versions
        self.placements = allocate(tile_buffers(lowered), config)
        self.config = config
        self.n_loops = 0

    def fresh_loop(self) -> int:
        """An id no other loop of the program has."""
        self.n_loops += 1
        return self.n_loops - 1

    def statement(
        self, stmt: tirx.Stmt, env: Mapping[Var, Linear], emitter: Emitter
    ) -> tuple[Node, ...]:
        """The nodes that a statement becomes."""
        decided = self.decided(stmt, env)
        if decided is None:
            return ()
        stmt = decided
        if isinstance(stmt, tirx.SeqStmt):
            return self.sequence(stmt, env, emitter)
        if isinstance(stmt, tirx.AllocBuffer):
            return ()
        nest = _Nest(stmt)
        if isinstance(nest.leaf, BufferStore):
            return self.copy(nest, env, emitter)
        if isinstance(nest.leaf, tirx.Evaluate) and not nest.guards:
            return self.evaluate(nest, env, emitter)
        if isinstance(stmt, tirx.For):
            return self.loop(stmt, env, emitter)
        raise CodegenError(f"no command performs `{stmt}`")

    def decided(self, stmt: tirx.Stmt, env: Mapping[Var, Linear]) -> tirx.Stmt | None:
        """What is left of a statement once conditions that are known here are decided."""
        while isinstance(stmt, tirx.IfThenElse):
            forms = conditions(stmt.condition, env) if _is_known(stmt.condition, env) else []
            if not forms or not all(form.is_const for form in forms):
                return stmt
            holds = all(form.const >= 0 for form in forms)
            stmt = stmt.then_case if holds else stmt.else_case
        return stmt

    def sequence(
        self, stmt: tirx.SeqStmt, env: Mapping[Var, Linear], emitter: Emitter
    ) -> tuple[Node, ...]:
        """Statements in order, but that copies marked to be woven wait for the array's steps
        that follow, unless a statement in between touches the same version of a tile."""
        nodes: list[Node] = []
        waiting: list[tuple[list[_Touched], tuple[Node, ...]]] = []

        def release(touched: list[_Touched] | None) -> None:
            """Issue the copies that touch the same tiles; all of them for None."""
            for entry in tuple(waiting):
                if touched is None or _conflict(entry[0], touched):
                    nodes.extend(entry[1])
                    waiting.remove(entry)

        for part in filter(None, (self.decided(part, env) for part in stmt.seq)):
            made = self.statement(part, env, emitter)
            nest = _Nest(part)
            if not made:
                continue
            if isinstance(nest.leaf, tirx.Evaluate):
                release(self.touched(nest, env))
                nodes += weave(made, tuple(node for _, copy in waiting for node in copy))
                waiting.clear()
            elif not isinstance(nest.leaf, BufferStore):
                release(None)
                nodes += made
            else:
                touched = self.touched(nest, env)
                release(touched)
                if nest.loops and WOVEN in nest.loops[0].annotations:
                    waiting.append((touched, made))
                else:
                    nodes += made
        release(None)
        return tuple(nodes)

    def touched(self, nest: _Nest, env: Mapping[Var, Linear]) -> list[_Touched]:
        """The tiles that a nest reads or writes, with the version where they have several."""
        inner = dict(env)
        for stmt in nest.loops:
            inner[stmt.loop_var] = Linear.loop(self.fresh_loop())
        accesses: list[_Touched] = []

        def visit(buffer: tirx.Buffer, indices: list[tirx.Expr]) -> None:
            if buffer.scope() in (SCRATCHPAD, ACCUMULATOR):
                versioned = buffer.name in self.versions
                version = linear(indices[0], inner) if versioned else Linear()
                accesses.append(_Touched(self.placements[buffer.name], version))

        tvm_ffi.structural_walk(
            nest.leaf,
            (
                (TensorLoad, lambda load: visit(load.source, load.indices)),
                (BufferStore, lambda store: visit(store.buffer, store.indices)),
            ),
        )
        return accesses

    def loop(self, stmt: tirx.For, env: Mapping[Var, Linear], emitter: Emitter) -> tuple[Node, ...]:
        """A loop of the program.  Where buffers alternate (``i % 2``), its body is repeated so
        that every operand advances by additions: general expressions cost the host time."""
        extent, start = _constant(stmt.extent), _constant(stmt.min)
        unrolled = stmt.kind == tirx.ForKind.UNROLLED
        period = extent if unrolled else min(_period(stmt), extent)
        nodes: list[Node] = []
        if extent // period > 1:
            loop_id = self.fresh_loop()
            body: list[Node] = []
            for phase in range(period):
                index = Linear.loop(loop_id) * period + (phase + start)
                body += self.statement(stmt.body, {**env, stmt.loop_var: index}, emitter)
            nodes.append(Loop(loop_id, expr.const(extent // period), tuple(body)))
            rest = range(extent - extent % period, extent)
        else:
            rest = range(extent)
        for last in rest:
            value = Linear(last + start)
            nodes += self.statement(stmt.body, {**env, stmt.loop_var: value}, emitter)
        return tuple(nodes)

    def copy(self, nest: _Nest, env: Mapping[Var, Linear], emitter: Emitter) -> tuple[Node, ...]:
        """The commands of a copy."""
        loops, inner = self.enter(nest, env)
        nodes: list[Node] = []
        copy = recognise(nest.leaf, nest.guards, inner, self.local)
        for part, around in split_boundaries(copy, loops, self.config):
            transfer = plan_transfer(part, around, self.config)
            nodes += emitter.copy(part, transfer, self.fresh_loop)
        return tuple(nodes)

    def evaluate(
        self, nest: _Nest, env: Mapping[Var, Linear], emitter: Emitter
    ) -> tuple[Node, ...]:
        """The commands of a nest around the array's step."""
        call = nest.leaf.value
        if isinstance(call, tirx.IntImm):
            return ()
        if not is_gemm(call):
            raise CodegenError(f"no command performs `{call}`")
        loops, inner = self.enter(nest, env)
        a, b, c = (self.address(argument, inner) for argument in call.args[1:4])
        rows, step = (int(argument.value) for argument in call.args[4:6])
        return emitter.gemm(a, b, c, rows, step, loops, self.fresh_loop)

    def enter(
        self, nest: _Nest, env: Mapping[Var, Linear]
    ) -> tuple[tuple[LoopExtent, ...], dict[Var, Linear]]:
        """Loops of a nest under ids of their own, and the variables inside."""
        inner = dict(env)
        loops = []
        for stmt in nest.loops:
            extent, start = _constant(stmt.extent), _constant(stmt.min)
            if extent == 1:
                inner[stmt.loop_var] = Linear(start)
                continue
            loop = LoopExtent(self.fresh_loop(), extent)
            loops.append(loop)
            inner[stmt.loop_var] = Linear.loop(loop.loop_id) + start
        return tuple(loops), inner

    def address(self, argument: tirx.Expr, env: Mapping[Var, Linear]) -> Linear:
        """The row that ``address_of`` a tile's element names."""
        load = argument.args[0]
        row, column = self.local(load.source, [linear(index, env) for index in load.indices])
        if column != Linear():
            raise CodegenError(f"{argument} is not the start of a row")
        return row

    def local(self, buffer: tirx.Buffer, indices: list[Linear]) -> tuple[Linear, Linear]:
        """Row and column of an element of a tile."""
        placement: Placement = self.placements[buffer.name]
        row = Linear(placement.row)
        for index, stride in zip(indices[:-1], placement.strides, strict=True):
            row = row + index * stride
        return row, indices[-1]


class _Touched(NamedTuple):
    """A version of a tile."""

    tile: Placement
    version: Linear

    def conflicts(self, other: _Touched) -> bool:
        """Whether both may touch the same rows; tiles may share them, one after the other."""
        apart = self.version - other.version
        if self.tile == other.tile and apart.is_const:
            return apart.const == 0
        return self.tile.overlaps(other.tile)


def _conflict(ours: list[_Touched], theirs: list[_Touched]) -> bool:
    """Whether two statements may touch the same rows."""
    return any(mine.conflicts(other) for mine, other in product(ours, theirs))


class _Nest:
    """A perfect nest: its loops, the conditions around its leaf, and the leaf."""

    def __init__(self, stmt: tirx.Stmt) -> None:
        self.loops: list[tirx.For] = []
        self.guards: list[tirx.Expr] = []
        while True:
            if isinstance(stmt, tirx.For):
                self.loops.append(stmt)
                stmt = stmt.body
            elif isinstance(stmt, tirx.IfThenElse) and stmt.else_case is None:
                self.guards.append(stmt.condition)
                stmt = stmt.then_case
            else:
                break
        self.leaf = stmt


def _constant(value: tirx.Expr) -> int:
    if not isinstance(value, tirx.IntImm):
        raise CodegenError(f"loop bound or extent {value} is not a constant")
    return int(value.value)


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
                tvm_ffi.structural_walk(index, (tirx.FloorMod, visit))

    tvm_ffi.structural_walk(
        loop.body,
        (
            (TensorLoad, lambda load: visit_tile(load.source, load.indices)),
            (BufferStore, lambda store: visit_tile(store.buffer, store.indices)),
        ),
    )
    return math.lcm(1, *divisors)


def _is_known(condition: tirx.Expr, env: Mapping[Var, Linear]) -> bool:
    """Whether a condition depends on nothing but loops around, whose values are forms."""
    unknown: list[Var] = []
    tvm_ffi.structural_walk(
        condition, (Var, lambda var: None if var in env else unknown.append(var))
    )
    return not unknown


def _uses(node: tirx.Expr, variable: Var) -> bool:
    found: list[Var] = []
    tvm_ffi.structural_walk(
        node, (Var, lambda inner: found.append(inner) if inner.same_as(variable) else None)
    )
    return bool(found)
