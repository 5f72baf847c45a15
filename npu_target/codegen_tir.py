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
from tvm import ir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from . import expr
from .codegen_emit import Emitter
from .codegen_weave import weave
from .config import NpuConfig
from .intrin import ACCUMULATOR, GEMM_CALL, SCRATCHPAD, WOVEN
from .passes.copies import UnsupportedStatement, recognise
from .passes.linear import Linear, conditions, linear
from .passes.lower import Lowered, allocated_buffers, lower
from .passes.memory import DoesNotFit, LocalBuffer, Placement, allocate
from .passes.transfers import LoopExtent, plan_transfer, split_boundaries
from .program import Arg, Loop, Node, Program

__all__ = ["CodegenError", "DoesNotFit", "build_program"]

CodegenError = UnsupportedStatement


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
    lowered = lower(func)
    walk = _Walk(lowered, config, name)
    emitter = Emitter(config, [param.name for param in func.params])
    body = walk.statement(lowered.func.body, {}, emitter)
    if not emitter.settings_fit:
        emitter = Emitter(config, [param.name for param in func.params], configure_each_copy=True)
        body = walk.statement(lowered.func.body, {}, emitter)
    return Program(name, config, _arguments(func), (*emitter.settings(), *body))


def _arguments(func: tirx.PrimFunc) -> tuple[Arg, ...]:
    last = len(func.params) - 1
    return tuple(
        Arg(
            param.name,
            "output" if index == last else "input",
            str(param.dtype),
            tuple(int(extent) for extent in param.shape),
        )
        for index, param in enumerate(func.params)
    )


class _Walk:
    """One pass over the loops of a lowered function."""

    def __init__(self, lowered: Lowered, config: NpuConfig, name: str) -> None:
        self.name = name
        self.versions = lowered.versions
        self.placements = allocate(_local_buffers(lowered), config, name)
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
        raise UnsupportedStatement(f"{self.name}: no command performs `{stmt}`")

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
                accesses.append(_Touched(buffer.name, version))

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
        extent, start = _constant(stmt.extent, self.name), _constant(stmt.min, self.name)
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
        try:
            copy = recognise(nest.leaf, nest.guards, inner, self.local)
            for part, around in split_boundaries(copy, loops, self.config):
                transfer = plan_transfer(part, around, self.config)
                nodes += emitter.copy(part, transfer, self.fresh_loop)
        except UnsupportedStatement as error:
            raise UnsupportedStatement(f"{self.name}: {error}") from error
        return tuple(nodes)

    def evaluate(
        self, nest: _Nest, env: Mapping[Var, Linear], emitter: Emitter
    ) -> tuple[Node, ...]:
        """The commands of a nest around the array's step."""
        call = nest.leaf.value
        if isinstance(call, tirx.IntImm):
            return ()
        if not _is_gemm(call):
            raise UnsupportedStatement(f"{self.name}: no command performs `{call}`")
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
            extent, start = _constant(stmt.extent, self.name), _constant(stmt.min, self.name)
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
            raise UnsupportedStatement(f"{self.name}: {argument} is not the start of a row")
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

    name: str
    version: Linear


def _conflict(ours: list[_Touched], theirs: list[_Touched]) -> bool:
    """Whether two statements may touch the same version of a tile."""
    for mine, other in product(ours, theirs):
        apart = mine.version - other.version
        if mine.name == other.name and not (apart.is_const and apart.const):
            return True
    return False


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


def _constant(value: tirx.Expr, owner: str) -> int:
    if not isinstance(value, tirx.IntImm):
        raise UnsupportedStatement(f"{owner}: loop bound {value} is not a constant")
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


def _local_buffers(lowered: Lowered) -> list[LocalBuffer]:
    """The tiles of a lowered function, with what the array does with them."""
    stationary: set[str] = set()

    def visit(call: ir.Call) -> None:
        if _is_gemm(call):
            stationary.add(call.args[2].args[0].source.name)

    tvm_ffi.structural_walk(lowered.func.body, (ir.Call, visit))
    buffers = allocated_buffers(lowered.func)
    live = _live_ranges(lowered.func.body)
    for buffer in buffers:
        if buffer.scope() not in (SCRATCHPAD, ACCUMULATOR):
            raise UnsupportedStatement(
                f"buffer {buffer.name} has scope {buffer.scope()!r}, needs {SCRATCHPAD!r} or "
                f"{ACCUMULATOR!r}: kernels keep no temporaries in DRAM"
            )
    return [
        LocalBuffer(
            buffer.name,
            buffer.scope(),
            tuple(int(extent) for extent in buffer.shape),
            lowered.versions.get(buffer.name, 1),
            buffer.name in stationary,
            live.get(buffer.name, (0, 0)),
        )
        for buffer in buffers
    ]


def _live_ranges(body: tirx.Stmt) -> dict[str, tuple[int, int]]:
    """The first and the last top-level statement that accesses each buffer, by name."""
    ranges: dict[str, tuple[int, int]] = {}
    for index, stmt in enumerate(body.seq if isinstance(body, tirx.SeqStmt) else [body]):

        def visit(buffer: tirx.Buffer, index: int = index) -> None:
            ranges[buffer.name] = (ranges.get(buffer.name, (index, index))[0], index)

        tvm_ffi.structural_walk(
            stmt,
            (
                (TensorLoad, lambda load, visit=visit: visit(load.source)),
                (BufferStore, lambda store, visit=visit: visit(store.buffer)),
            ),
        )
    return ranges


def _is_gemm(node: object) -> bool:
    return (
        isinstance(node, ir.Call)
        and getattr(node.op, "name", "") == "tirx.call_extern"
        and node.args[0].value == GEMM_CALL
    )
