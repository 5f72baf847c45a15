"""TensorIR to command programs.

A scheduled function is lowered (:mod:`npu_target.passes.lower`), its tiles get rows of the
device's memories (:mod:`npu_target.passes.memory`), and its loops are walked once: a nest around
a store becomes mvin or mvout commands, a nest around ``npu.gemm`` preloads and computes, any
other loop stays a loop of the program.
"""

from __future__ import annotations

from functools import partial

from tvm import tirx
from tvm.tirx.buffer import BufferType

from . import expr
from .codegen_emit import Emitter
from .codegen_ends import overlap_ends
from .codegen_interleave import interleave
from .codegen_nests import (
    Branch,
    CopyNest,
    Nest,
    Reader,
    Repeat,
    Sequence,
    Statement,
    StepNest,
    Values,
    constant,
)
from .codegen_rotate import rotate
from .codegen_starts import overwritten_sums
from .codegen_weave import Touched, WaitingCopies, WaitingCopy, weave
from .config import NpuConfig
from .isa import IsaError
from .passes.errors import CodegenError, DoesNotFit
from .passes.linear import Linear
from .passes.lower import Lowered, lower
from .passes.memory import allocate
from .passes.tiles import tile_buffers
from .passes.transfers import LoopExtent
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
        walk = _Walk(lower(func), config, Emitter(config, [arg.name for arg in args]))
        body = interleave(overlap_ends(rotate(walk.program()), config), config)
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
        shape = tuple(constant(extent) for extent in param.shape)
        role = "output" if index == last else "input"
        args.append(Arg(param.name, role, str(param.dtype), shape))
    return tuple(args)


class _Walk:
    """One pass over the loops of a lowered function."""

    def __init__(self, lowered: Lowered, config: NpuConfig, emitter: Emitter) -> None:
        body = lowered.func.body
        reader = Reader(allocate(tile_buffers(lowered), config), lowered.versions)
        parts = body.seq if isinstance(body, tirx.SeqStmt) else [body]
        self.parts = [reader.statement(part) for part in parts]
        self.overwritten = overwritten_sums(self.parts)
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
        parts = self.parts
        nodes: list[Node] = []
        waiting = WaitingCopies()
        while parts:
            settings, (made, waiting, taken) = self.emitter.settings.phase(
                partial(self.phase, parts, waiting)
            )
            nodes += [*settings, *made]
            parts = parts[taken:]
        return (*nodes, *waiting.nodes())

    def phase(
        self, parts: list[Statement], waiting: WaitingCopies
    ) -> tuple[list[Node], WaitingCopies, int]:
        """The nodes of the first parts, until no copy waits for what comes later; the copies
        that wait at the end of all; and how many parts those are."""
        nodes: list[Node] = []
        copies = waiting.copy()
        taken = 0
        while taken < len(parts) and (copies or not taken):
            nodes += self.statement(parts[taken], {}, copies)
            taken += 1
        copies.nodes()  # they obey the settings of this phase
        return nodes, copies, taken

    def statement(
        self, stmt: Statement, values: Values, waiting: WaitingCopies
    ) -> tuple[Node, ...]:
        """The nodes that a statement becomes.  Copies marked to be woven are added to those that
        wait for the array's steps, in which they are then issued."""
        while isinstance(stmt, Branch):
            holds = stmt.holds(values)
            stmt = stmt.whole if holds is None else stmt.then if holds else stmt.otherwise
        if isinstance(stmt, Sequence):
            return tuple(
                [node for part in stmt.parts for node in self.statement(part, values, waiting)]
            )
        if isinstance(stmt, CopyNest):
            if stmt in self.overwritten:
                return ()
            touched = self.touched(stmt, values)
            if stmt.woven:
                waiting.add(WaitingCopy(touched, partial(self.copy, stmt, values)))
                return ()
            before = waiting.release(touched)
            return () if self.only_waiting else (*before.nodes(), *self.copy(stmt, values))
        if isinstance(stmt, StepNest):
            if self.only_waiting:
                waiting.take()
                return ()
            made = self.steps(stmt, values)
            return (
                *waiting.release(self.touched(stmt, values)).nodes(),
                *weave(made, waiting.take().nodes(), self.config),
            )
        if isinstance(stmt, Repeat):
            return self.loop(stmt, values, waiting)
        raise CodegenError(stmt.text)

    def touched(self, nest: CopyNest | StepNest, values: Values) -> list[Touched]:
        """The tiles that a nest reads or writes, with the version where they have several."""
        self.n_loops += nest.n_loops
        return nest.touched(values)

    def loop(self, stmt: Repeat, values: Values, waiting: WaitingCopies) -> tuple[Node, ...]:
        """A loop of the program.  Where buffers alternate (``i % 2``), its body is repeated so
        that every operand advances by additions: general expressions cost the host time.

        Copies that an iteration leaves waiting are issued in the next one, so the first iteration
        is then split off.
        """
        extent, period = stmt.extent, stmt.period

        def body(index: Linear, copies: WaitingCopies) -> tuple[Node, ...]:
            return self.statement(stmt.body, {**values, stmt.symbol: index + stmt.start}, copies)

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
                nodes += waiting.take().nodes()
            nodes.append(Loop(loop_id, expr.const(repeated), tuple(phases)))
            done += repeated * period
            if carries:
                waiting.replace(left_by(Linear(done - 1)))
        for index in range(done, extent):
            nodes += body(Linear(index), waiting)
        return tuple(nodes)

    def copy(self, nest: CopyNest, values: Values) -> tuple[Node, ...]:
        """The commands of a copy."""
        _, inner = self.enter(nest, values)
        nodes: list[Node] = []
        for part, transfer in nest.transfers(inner, self.config):
            nodes += self.emitter.copy(part, transfer, self.fresh_loop)
        return tuple(nodes)

    def steps(self, nest: StepNest, values: Values) -> tuple[Node, ...]:
        """The commands of a nest around the array's step."""
        loops, inner = self.enter(nest, values)
        step = nest.step(inner)._replace(starts=nest in self.overwritten)
        return self.emitter.gemm(step, loops, self.fresh_loop)

    def enter(self, nest: Nest, values: Values) -> tuple[tuple[LoopExtent, ...], dict[int, Linear]]:
        """Loops of a nest under ids of their own, and the values of symbols inside."""
        self.n_loops += nest.n_loops
        loops = tuple([LoopExtent(self.fresh_loop(), loop.extent) for loop in nest.loops])
        inner = dict(values)
        for symbol, loop in zip(nest.loops, loops, strict=True):
            inner[symbol.loop_id] = Linear.loop(loop.loop_id)
        return loops, inner
