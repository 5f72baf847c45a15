"""TensorIR to command programs.

A scheduled function is lowered (:mod:`npu_target.passes.lower`), its tiles get rows of the
device's memories (:mod:`npu_target.passes.memory`), and its loops are walked once: a nest around
a store becomes mvin or mvout commands, a nest around ``npu.gemm`` preloads and computes, any
other loop stays a loop of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var
from tvm.tirx.buffer import BufferType

from . import expr
from .codegen_emit import Emitter
from .codegen_steps import ArrayStep
from .codegen_weave import Touched, WaitingCopies, weave
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
        body = _Walk(lower(func), config, Emitter(config, [arg.name for arg in args])).program()
    except DoesNotFit as error:
        raise DoesNotFit(f"{name}: {error}") from error
    except (CodegenError, IsaError) as error:
        raise CodegenError(f"{name}: {error}") from error
    return Program(name, config, args, body)


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

    def __init__(self, lowered: Lowered, config: NpuConfig, emitter: Emitter) -> None:
        self.body = lowered.func.body
        self.versions = lowered.versions
        self.placements = allocate(tile_buffers(lowered), config)
        self.config = config
        self.emitter = emitter
        self.n_loops = 0
        self.only_waiting = False  # whether only the copies matter that are left waiting

    def fresh_loop(self) -> int:
        """An id no other loop of the program has."""
        self.n_loops += 1
        return self.n_loops - 1

    def program(self) -> tuple[Node, ...]:
        """The whole program, in phases of the device's settings."""
        parts = list(self.body.seq) if isinstance(self.body, tirx.SeqStmt) else [self.body]
        nodes: list[Node] = []
        waiting = WaitingCopies()
        while parts:
            settings, (made, waiting, taken) = self.emitter.settings.phase(
                partial(self.phase, parts, waiting)
            )
            nodes += [*settings, *made]
            parts = parts[taken:]
        return (*nodes, *waiting.take())

    def phase(
        self, parts: list[tirx.Stmt], waiting: WaitingCopies
    ) -> tuple[list[Node], WaitingCopies, int]:
        """The nodes of the first parts, until no copy waits for what comes later; the copies
        that wait at the end of all; and how many parts those are."""
        nodes: list[Node] = []
        copies = waiting.copy()
        taken = 0
        while taken < len(parts) and (copies or not taken):
            nodes += self.statement(parts[taken], {}, copies)
            taken += 1
        return nodes, copies, taken

    def statement(
        self, stmt: tirx.Stmt, env: Mapping[Var, Linear], waiting: WaitingCopies
    ) -> tuple[Node, ...]:
        """The nodes that a statement becomes.  Copies marked to be woven are added to those that
        wait for the array's steps, in which they are then issued."""
        decided = self.decided(stmt, env)
        if decided is None:
            return ()
        stmt = decided
        if isinstance(stmt, tirx.SeqStmt):
            return tuple(node for part in stmt.seq for node in self.statement(part, env, waiting))
        if isinstance(stmt, tirx.AllocBuffer):
            return ()
        nest = _Nest(stmt)
        if isinstance(nest.leaf, BufferStore):
            touched = self.touched(nest, env)
            if nest.loops and WOVEN in nest.loops[0].annotations:
                waiting.add(touched, self.copy(nest, env))
                return ()
            before = waiting.release(touched)
            return () if self.only_waiting else (*before, *self.copy(nest, env))
        if isinstance(nest.leaf, tirx.Evaluate) and not nest.guards:
            if self.only_waiting and is_gemm(nest.leaf.value):
                waiting.take()
                return ()
            made = self.evaluate(nest, env)
            if not made:
                return ()
            return (
                *waiting.release(self.touched(nest, env)),
                *weave(made, waiting.take(), self.config),
            )
        if isinstance(stmt, tirx.For):
            return self.loop(stmt, env, waiting)
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

    def touched(self, nest: _Nest, env: Mapping[Var, Linear]) -> list[Touched]:
        """The tiles that a nest reads or writes, with the version where they have several."""
        inner = dict(env)
        for stmt in nest.loops:
            inner[stmt.loop_var] = Linear.loop(self.fresh_loop())
        accesses: list[Touched] = []

        def visit(buffer: tirx.Buffer, indices: list[tirx.Expr]) -> None:
            if buffer.scope() in (SCRATCHPAD, ACCUMULATOR):
                versioned = buffer.name in self.versions
                version = linear(indices[0], inner) if versioned else Linear()
                accesses.append(Touched(self.placements[buffer.name], version))

        _walk_accesses(nest.leaf, visit)
        return accesses

    def loop(
        self, stmt: tirx.For, env: Mapping[Var, Linear], waiting: WaitingCopies
    ) -> tuple[Node, ...]:
        """A loop of the program.  Where buffers alternate (``i % 2``), its body is repeated so
        that every operand advances by additions: general expressions cost the host time.

        Copies that an iteration leaves waiting are issued in the next one, so the first iteration
        is then split off.
        """
        extent, start = _constant(stmt.extent), _constant(stmt.min)
        period = extent if stmt.kind == tirx.ForKind.UNROLLED else min(_period(stmt), extent)

        def body(index: Linear, copies: WaitingCopies) -> tuple[Node, ...]:
            return self.statement(stmt.body, {**env, stmt.loop_var: index + start}, copies)

        def left_by(index: Linear) -> WaitingCopies:
            copies = WaitingCopies()
            outer, self.only_waiting = self.only_waiting, True
            try:
                body(index, copies)
            finally:  # a phase that needs too many settings is made again
                self.only_waiting = outer
            return copies

        carries = extent > 1 and bool(left_by(Linear()))
        nodes: list[Node] = []
        done = 0
        if carries:
            nodes += body(Linear(), waiting)
            done = 1
        repeated = (extent - done) // period
        if repeated > 1:
            loop_id = self.fresh_loop()
            first = Linear.loop(loop_id) * period + done
            copies = left_by(first - 1) if carries else WaitingCopies()
            phases: list[Node] = []
            for phase in range(period):
                phases += body(first + phase, copies)
            if not carries:
                nodes += waiting.take()
            nodes.append(Loop(loop_id, expr.const(repeated), tuple(phases)))
            done += repeated * period
            if carries:
                waiting.replace(left_by(Linear(done - 1)))
        for index in range(done, extent):
            nodes += body(Linear(index), waiting)
        return tuple(nodes)

    def copy(self, nest: _Nest, env: Mapping[Var, Linear]) -> tuple[Node, ...]:
        """The commands of a copy."""
        loops, inner = self.enter(nest, env)
        nodes: list[Node] = []
        copy = recognise(nest.leaf, nest.guards, inner, self.local)
        for part, around in split_boundaries(copy, loops, self.config):
            transfer = plan_transfer(part, around, self.config)
            nodes += self.emitter.copy(part, transfer, self.fresh_loop)
        return tuple(nodes)

    def evaluate(self, nest: _Nest, env: Mapping[Var, Linear]) -> tuple[Node, ...]:
        """The commands of a nest around the array's step."""
        call = nest.leaf.value
        if isinstance(call, tirx.IntImm):
            return ()
        if not is_gemm(call):
            raise CodegenError(f"no command performs `{call}`")
        loops, inner = self.enter(nest, env)
        a, b, c = (self.address(argument, inner) for argument in call.args[1:4])
        rows, step = (int(argument.value) for argument in call.args[4:6])
        return self.emitter.gemm(ArrayStep(a, b, c, rows, step), loops, self.fresh_loop)

    def enter(
        self, nest: _Nest, env: Mapping[Var, Linear]
    ) -> tuple[tuple[LoopExtent, ...], dict[Var, Linear]]:
        """Loops of a nest under ids of their own, and the variables inside.  A loop over the
        pixels of wide sums becomes two: over steps, and over the rows of a step."""
        inner = dict(env)
        loops = []
        step_rows = self.wide_pixels(nest, env)
        for stmt in nest.loops:
            extent, start = _constant(stmt.extent), _constant(stmt.min)
            rows = step_rows.get(stmt.loop_var, extent)
            value = Linear(start)
            for count, size in ((extent // rows, rows), (rows, 1)):
                if count > 1:
                    loops.append(LoopExtent(self.fresh_loop(), count))
                    value = value + Linear.loop(loops[-1].loop_id) * size
            inner[stmt.loop_var] = value
        return tuple(loops), inner

    def wide_pixels(self, nest: _Nest, env: Mapping[Var, Linear]) -> dict[Var, int]:
        """The loops over the pixels of several steps of wide sums that a nest loads or stores,
        with the rows of a step."""
        found: dict[Var, int] = {}
        ids = {stmt.loop_var: self.fresh_loop() for stmt in nest.loops}
        inner = {**env, **{variable: Linear.loop(id) for variable, id in ids.items()}}

        def visit(buffer: tirx.Buffer, indices: list[tirx.Expr]) -> None:
            placement = self.placements.get(buffer.name)
            if placement is not None and placement.wide is not None:
                rows, _ = placement.wide
                pixel = linear(indices[-2], inner)
                for stmt in nest.loops:
                    one_by_one = pixel.coefficient(ids[stmt.loop_var]) == 1
                    if one_by_one and _constant(stmt.extent) > rows:
                        found[stmt.loop_var] = rows

        if isinstance(nest.leaf, BufferStore):
            _walk_accesses(nest.leaf, visit)
        return found

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
        if placement.wide is not None:
            # What is no multiple of a step's rows stays inside of a step: `enter` sees to it.
            rows, step = placement.wide
            pixel = indices[-2]
            steps = {key: value // rows for key, value in pixel.items if value % rows == 0}
            row = row + Linear.of(pixel.const // rows, steps) * (step - rows)
        return row, indices[-1]


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


def _walk_accesses(stmt: tirx.Stmt, visit: Callable[[tirx.Buffer, list[tirx.Expr]], None]) -> None:
    """Call ``visit`` with the buffer and the indices of every load and store."""
    tvm_ffi.structural_walk(
        stmt,
        (
            (TensorLoad, lambda load: visit(load.source, load.indices)),
            (BufferStore, lambda store: visit(store.buffer, store.indices)),
        ),
    )


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
