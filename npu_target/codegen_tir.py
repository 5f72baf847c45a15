"""TensorIR to command programs.

A scheduled function is lowered (:mod:`npu_target.passes.lower`), its tiles get rows of the
device's memories (:mod:`npu_target.passes.memory`), and its loops are walked once: a nest around
a store becomes commands that load or store, one around an intrinsic's call the device's steps, any
other loop stays a loop of the program.  The program is then made better for the host that runs it
(:mod:`npu_target.rewriting`).  A function that is marked with a route has its commands from there
(:mod:`npu_target.topi.routed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import tvm_ffi
from tvm import tirx
from tvm.tirx.buffer import BufferType

from .codegen.emitter import Emitter
from .codegen.in_order import InOrder
from .codegen.operations import LoopIds
from .codegen.pipeline import Pipeline
from .codegen.placed import Placed, emitted
from .codegen.reader import Reader
from .codegen.report import NO_OVERLAP, PROGRAM_ORDER, NoReport, ScheduleReport
from .codegen.starts import overwritten_sums
from .codegen.two_places import InputPlaces
from .codegen.walk import Walk
from .codegen.written import check_written
from .device import DeviceConfig, kind_of
from .device.commands import IsaError
from .intrin import IN_ORDER
from .packing import Packing
from .passes.columns import check_columns
from .passes.errors import CodegenError, DoesNotFit
from .passes.linear import constant
from .passes.lower import Lowered, lower
from .passes.memory import allocate, free_rows
from .passes.named import in_words_of
from .passes.packings import all_marked, packings
from .passes.tiles import tile_buffers
from .pipeline_options import DEFAULT, PipelineOptions
from .program import Arg, Constant, Node, Program
from .rewriting import rewritten
from .topi import OperatorError
from .topi.routed import served_by

__all__ = [
    "PIPELINE",
    "Built",
    "CodegenError",
    "DoesNotFit",
    "build",
    "build_program",
    "pipeline_of",
]

# Of a function: the pipeline that it is compiled by, as `PipelineOptions.parse` takes it.
PIPELINE = "npu.pipeline"

Show = Callable[[str, Any], None]  # is given what each stage leaves, by its name


class Built(NamedTuple):
    """A program, and the layouts of its packed arguments, by name."""

    program: Program
    packings: dict[str, Packing]


def build_program(
    func: tirx.PrimFunc,
    config: DeviceConfig,
    name: str,
    report: ScheduleReport | None = None,
    options: PipelineOptions | None = None,
    show: Show | None = None,
) -> Program:
    """The program that `build` makes of a function."""
    return build(func, config, name, report, options, show).program


def build(
    func: tirx.PrimFunc,
    config: DeviceConfig,
    name: str,
    report: ScheduleReport | None = None,
    options: PipelineOptions | None = None,
    show: Show | None = None,
) -> Built:
    """Compile one scheduled function.

    Parameters
    ----------
    func : the function, its tiles in the scopes of the device's memories;
        the last argument is the output, the others are inputs.
    name : of the program, in messages and in the disassembly.
    report : is told where each operation is placed, and what no steps hide.
    options : the optimizations; of none, those that the function's attribute `npu.pipeline` names,
        or all.
    show : is given what each stage leaves: see :mod:`npu_target.stages`.

    Raises
    ------
    DoesNotFit
        if the tiles exceed a memory.
    CodegenError
        if a statement is none that the device performs, or a route does not serve the operator.
    """
    if options is None:
        options = pipeline_of(func)
    tell = show or _forget
    tell("scheduled", func)
    try:
        served = served_by(func, config)
        func = all_marked(func, config)
        packed = packings(func, config)
        args = _arguments(func, packed)
        constants: tuple[Constant, ...] = ()
        if served is not None:
            body = tuple(served.route.nodes(served.operator))
        else:
            names = [arg.name for arg in args]
            body, constants = _scheduled_body(func, config, names, packed, report, options, show)
    except DoesNotFit as error:
        raise DoesNotFit(f"{name}: {error}") from error
    except (CodegenError, IsaError, OperatorError) as error:
        raise CodegenError(f"{name}: {_in_words_of(func, error)}") from error

    head = Program(name, config, args, (), constants)
    if show is not None:
        show("program", replace(head, body=body))
    program = rewritten(head, body, kind_of(config).commands, options, show)
    tell("commands", program)
    tell("c", program)
    return Built(program, packed)


def _in_words_of(func: tirx.PrimFunc, error: CodegenError | IsaError | OperatorError) -> str:
    return in_words_of(func, error) if isinstance(error, CodegenError) else str(error)


def _forget(stage: str, found: object) -> None:
    """For who is shown nothing."""


def pipeline_of(func: tirx.PrimFunc) -> PipelineOptions:
    """The optimizations that a function asks for. Raises PipelineError."""
    text = None if func.attrs is None else func.attrs.get(PIPELINE)
    return DEFAULT if text is None else PipelineOptions.parse(str(text))


def _arguments(func: tirx.PrimFunc, packed: Mapping[str, Packing]) -> tuple[Arg, ...]:
    last = len(func.params) - 1
    args = []
    for index, param in enumerate(func.params):
        if not isinstance(param.ty, BufferType):
            raise CodegenError(f"argument {param.name} is no tensor")
        shape = tuple(constant(extent) for extent in param.shape)
        if param.name in packed:
            shape = packed[param.name].packed_shape
        role = "output" if index == last else "input"
        args.append(Arg(param.name, role, str(param.dtype), shape))
    return tuple(args)


def _scheduled_body(
    func: tirx.PrimFunc,
    config: DeviceConfig,
    arguments: Sequence[str],
    packed: Mapping[str, Packing],
    report: ScheduleReport | None,
    options: PipelineOptions,
    show: Show | None,
) -> tuple[tuple[Node, ...], tuple[Constant, ...]]:
    if not kind_of(config).has_schedules:
        raise CodegenError(
            f"{config.name} runs no schedules: have it computed by one of its routes"
        )
    check_columns(func, config)
    if report is not None:
        report.arguments = list(arguments)
    lowered = lower(func, config, options, show)
    return _body(lowered, config, arguments, packed, report or NoReport(), options, show or _forget)


def _walk(func: tirx.PrimFunc, emitter: Emitter, options: PipelineOptions) -> Walk:
    if not options.overlap:
        return InOrder(emitter, NO_OVERLAP)
    return InOrder(emitter, PROGRAM_ORDER) if _is_marked_in_order(func) else Pipeline(emitter)


def _is_marked_in_order(func: tirx.PrimFunc) -> bool:
    marks: list[bool] = []
    tvm_ffi.structural_walk(
        func.body, (tirx.For, lambda loop: marks.append(IN_ORDER in loop.annotations))
    )
    return any(marks)


def _body(
    lowered: Lowered,
    config: DeviceConfig,
    arguments: Sequence[str],
    packed: Mapping[str, Packing],
    report: NoReport,
    options: PipelineOptions,
    show: Show,
) -> tuple[tuple[Node, ...], tuple[Constant, ...]]:
    """The commands of a lowered function, in phases of the device's settings: one for all of it,
    or, where that needs too many, one for each of its parts; and what they read of their own."""
    body = lowered.func.body
    buffers = tile_buffers(lowered, config)
    tiles = allocate(buffers, config)
    show("memory", tiles)
    reader = Reader(tiles, lowered.versions, config, packed)
    stmts = body.seq if isinstance(body, tirx.SeqStmt) else [body]
    parts = [reader.statement(stmt) for stmt in stmts]
    show("statements", parts)
    check_written(parts, reader.allocated_in)
    overwritten = overwritten_sums(parts, config.memories) if options.overwriting else set()
    ids = LoopIds()
    emission = kind_of(config).emission(config, arguments, ids, lowered.func)
    memory = config.memories.inputs
    inputs = InputPlaces(parts, memory, partial(free_rows, buffers, tiles, memory), ids)
    emitter = Emitter(emission, overwritten, config, ids, report, options, inputs)
    walk = _walk(lowered.func, emitter, options)

    def nodes(needed: tuple[Node, ...], placed: Sequence[Placed]) -> tuple[Node, ...]:
        report.keep()
        show("placed", placed)
        placed = emission.synchronized(placed)
        show("synchronized", placed)
        return (*needed, *emitted(placed))

    whole = emission.whole(partial(walk.run, parts))
    if whole is not None:
        return nodes(*whole), emission.constants
    report.in_phases()
    phases = [nodes(*emission.phase(partial(walk.run, [part]))) for part in parts]
    return tuple([node for phase in phases for node in phase]), emission.constants
