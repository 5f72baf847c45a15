"""The tiles of a lowered function: what the allocator must know of each."""

from __future__ import annotations

from collections.abc import Mapping

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

    memories, intrinsics = config.memories, kind_of(config).intrinsics(config)

    def visit(node: ir.Call) -> None:
        call = step_call(node, intrinsics)
        if call is None:
            return
        for operand, element in zip(call.operands, call.elements, strict=True):
            if not operand.follows:
                stationary.add(element.source.name)
            elif operand.access is not Access.READ:
                step_rows[element.source.name] = operand.rows

    tvm_ffi.structural_walk(lowered.func.body, (ir.Call, visit))
    wide = _stored_wide(lowered.func.body, memories)
    orders = _orders(lowered.func.body)
    pooled = _pooled(lowered.func.body, memories)
    halved = _halved(lowered.func.body)
    spare = _spare_rows(lowered.func.body, memories)
    # One that a pipeline's prologue, loop and epilogue allocate each is one tile.
    buffers = list(dict.fromkeys(allocated_buffers(lowered.func)))
    live = _live_ranges(lowered.func.body)
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
    return rows


def _stored_wide(body: tirx.Stmt, memories: Memories) -> set[str]:
    """The tiles of sums whose stores are marked to take several blocks of columns."""
    found: set[str] = set()

    def visit(loop: tirx.For) -> None:
        if WIDE in loop.annotations:
            tvm_ffi.structural_walk(loop.body, (TensorLoad, visit_load))

    def visit_load(load: TensorLoad) -> None:
        if load.source.scope() == memories.sums.scope:
            found.add(load.source.name)

    tvm_ffi.structural_walk(body, (tirx.For, visit))
    return found


def _orders(body: tirx.Stmt) -> dict[str, tuple[int, ...]]:
    """The order of the dimensions of tiles of packed weights."""
    found: dict[str, tuple[int, ...]] = {}

    def visit(loop: tirx.For) -> None:
        if PACKED in loop.annotations:
            order = tuple(int(dimension) for dimension in loop.annotations[PACKED])
            tvm_ffi.structural_walk(
                loop.body,
                (BufferStore, lambda store: found.update({store.buffer.name: order})),
            )

    tvm_ffi.structural_walk(body, (tirx.For, visit))
    return found


def _halved(body: tirx.Stmt) -> set[str]:
    """The tiles of which a load is marked to be used in halves."""
    found: set[str] = set()

    def visit(loop: tirx.For) -> None:
        if HALVED in loop.annotations:
            tvm_ffi.structural_walk(
                loop.body, (BufferStore, lambda store: found.add(store.buffer.name))
            )

    tvm_ffi.structural_walk(body, (tirx.For, visit))
    return found


def _pooled(body: tirx.Stmt, memories: Memories) -> set[str]:
    """The tiles of which a store takes the greatest of several elements."""
    found: set[str] = set()

    def visit(store: BufferStore) -> None:
        loads: list[str] = []
        tvm_ffi.structural_walk(
            store.value, (TensorLoad, lambda load: loads.append(load.source.name))
        )
        if store.buffer.scope() not in memories.scopes:
            found.update(name for name in loads if loads.count(name) > 1)

    tvm_ffi.structural_walk(body, (BufferStore, visit))
    return found


def _spare_rows(body: tirx.Stmt, memories: Memories) -> dict[str, int]:
    """For each tile with columns of several lines in a row, how many lines more than one."""
    found: dict[str, int] = {}

    def visit(store: BufferStore) -> None:
        if not memories.is_of_operands(store.buffer.scope()):
            return
        column, dim = store.indices[-1], int(store.buffer.shape[-1])

        def visit_division(division: tirx.FloorDiv) -> None:
            if isinstance(column, tirx.Var) and division.a.same_as(column):
                lines = dim // int(division.b.value)
                found[store.buffer.name] = max(found.get(store.buffer.name, 0), lines - 1)

        tvm_ffi.structural_walk(store.value, (tirx.FloorDiv, visit_division))

    tvm_ffi.structural_walk(body, (BufferStore, visit))
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
