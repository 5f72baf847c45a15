"""The tiles of a lowered function: what the allocator must know of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore

from ..device import DeviceConfig, Memories, kind_of
from ..device.intrinsic import Access
from ..intrin import HALVED, PACKED, WIDE, step_call
from .errors import CodegenError
from .lower import Lowered, allocated_buffers
from .memory import LocalBuffer

# Of sums whose blocks may lie side by side, at least: [batch, blocks, ..., pixels, columns].
_WIDE_DIMENSIONS = 4


def tile_buffers(lowered: Lowered, config: DeviceConfig) -> list[LocalBuffer]:
    """The tiles of a lowered function, with what the device's steps do with them.

    Raises
    ------
    CodegenError
        for a buffer in no memory of the device, two of the same name, or sums whose blocks cannot
        lie side by side.
    """
    stationary: set[str] = set()
    step_rows: dict[str, int] = {}
    marked: list[tirx.For] = []
    stores: list[BufferStore] = []

    memories, intrinsics = config.memories, kind_of(config).intrinsics(config)

    def visit_call(node: ir.Call) -> None:
        call = step_call(node, intrinsics)
        if call is None:
            return
        for operand, element in zip(call.operands, call.elements, strict=True):
            if not operand.follows:
                stationary.add(element.source.name)
            elif operand.access is not Access.READ:
                step_rows[element.source.name] = operand.rows

    def visit_loop(loop: tirx.For) -> None:
        if loop.annotations:
            marked.append(loop)

    body = lowered.func.body
    tvm_ffi.structural_walk(
        body, ((ir.Call, visit_call), (tirx.For, visit_loop), (BufferStore, stores.append))
    )
    wide = _stored_wide(marked, memories)
    orders = _orders(marked)
    pooled = _pooled(stores, memories)
    halved = _halved(marked)
    spare = _spare_rows(stores, memories)
    # One that a pipeline's prologue, loop and epilogue allocate each is one tile.
    buffers = list(dict.fromkeys(allocated_buffers(lowered.func)))
    live = _live_ranges(body)
    names = [buffer.name for buffer in buffers]
    for buffer in buffers:
        if names.count(buffer.name) > 1:
            raise CodegenError(
                f"two tiles are called {buffer.name}: give each a name of its own", str(buffer.name)
            )
        if buffer.scope() not in memories.scopes:
            needed = " or ".join(repr(memory.scope) for memory in memories.all)
            raise CodegenError(
                f"buffer {buffer.name} has scope {buffer.scope()!r}, needs {needed}: "
                "kernels keep no temporaries in DRAM",
                str(buffer.name),
            )
    return [
        LocalBuffer(
            buffer.name,
            buffer.scope(),
            tuple(int(extent) for extent in buffer.shape),
            lowered.versions.get(buffer.name, 1),
            buffer.name in stationary,
            live.get(buffer.name, (0, 0)),
            _wide_rows(buffer, lowered, step_rows) if buffer.name in wide else None,
            orders.get(buffer.name),
            buffer.name in pooled,
            buffer.name in halved,
            spare.get(buffer.name, 0),
        )
        for buffer in buffers
    ]


def _wide_rows(buffer: tirx.Buffer, lowered: Lowered, step_rows: Mapping[str, int]) -> int | None:
    """The rows of a step of sums whose blocks lie side by side; None for sums of a single block."""
    rows = step_rows.get(buffer.name)
    shape = [int(extent) for extent in buffer.shape]
    if buffer.name in lowered.versions:
        shape = shape[1:]
    if len(shape) < _WIDE_DIMENSIONS:
        return None
    if rows is None or shape[-2] % rows:
        raise CodegenError(
            f"tile {buffer.name} of shape {shape} is stored by a loop marked {WIDE}, which needs "
            "sums of shape [batch, blocks, ..., pixels, columns] with whole steps of the device in "
            "their pixels; leave out the mark",
            str(buffer.name),
        )
    if rows > shape[-1]:
        raise CodegenError(
            f"tile {buffer.name} of shape {shape} is stored by a loop marked {WIDE}, whose blocks "
            f"lie {shape[-1]} rows apart: steps of {rows} rows would write over each other; leave "
            "out the mark",
            str(buffer.name),
        )
    return rows


def _stored_wide(marked: Sequence[tirx.For], memories: Memories) -> set[str]:
    """The tiles of sums whose stores are marked to take several blocks of columns."""
    found: set[str] = set()

    def visit(load: TensorLoad) -> None:
        if load.source.scope() == memories.sums.scope:
            found.add(load.source.name)

    for loop in marked:
        if WIDE in loop.annotations:
            tvm_ffi.structural_walk(loop.body, (TensorLoad, visit))
    return found


def _orders(marked: Sequence[tirx.For]) -> dict[str, tuple[int, ...]]:
    """The order of the dimensions of tiles of packed weights."""
    return {
        name: tuple(int(dimension) for dimension in loop.annotations[PACKED])
        for loop in marked
        if PACKED in loop.annotations
        for name in _written(loop)
    }


def _halved(marked: Sequence[tirx.For]) -> set[str]:
    """The tiles of which a load is marked to be used in halves."""
    return {name for loop in marked if HALVED in loop.annotations for name in _written(loop)}


def _written(loop: tirx.For) -> list[str]:
    """The names of what is written in a loop."""
    names: list[str] = []
    tvm_ffi.structural_walk(loop.body, (BufferStore, lambda store: names.append(store.buffer.name)))
    return names


def _pooled(stores: Sequence[BufferStore], memories: Memories) -> set[str]:
    """The tiles of which a store takes the greatest of several elements."""
    found: set[str] = set()
    for store in stores:
        if store.buffer.scope() in memories.scopes:
            continue
        loads: list[TensorLoad] = []
        tvm_ffi.structural_walk(store.value, (TensorLoad, loads.append))
        names = [load.source.name for load in loads]
        found.update(name for name in names if names.count(name) > 1)
    return found


def _spare_rows(stores: Sequence[BufferStore], memories: Memories) -> dict[str, int]:
    """For each tile with columns of several lines in a row, how many lines more than one."""
    found: dict[str, int] = {}
    for store in stores:
        column = store.indices[-1]
        if not isinstance(column, tirx.Var):
            continue
        if not memories.is_of_operands(store.buffer.scope()):
            continue
        divisions: list[tirx.FloorDiv] = []
        tvm_ffi.structural_walk(store.value, (tirx.FloorDiv, divisions.append))
        for division in divisions:
            if division.a.same_as(column):
                lines = int(store.buffer.shape[-1]) // int(division.b.value)
                found[store.buffer.name] = max(found.get(store.buffer.name, 0), lines - 1)
    return found


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
