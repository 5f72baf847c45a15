"""Functions of one byte as tables: what takes a call of the C library for each element takes it for
each of the 256 values instead."""

from __future__ import annotations

from math import prod

import tvm_ffi
from tvm import ir, tirx

from .expressions import calls_library

_VALUES = 256
_LOWEST = {"int8": -128, "uint8": 0}


def with_byte_tables(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """A function in plain loops, with each nest that computes every element from the byte at one
    place, by the C library, as a table of that and a nest that looks elements up. The same
    operations make the same numbers, to the last bit."""
    parts = list(func.body.seq) if isinstance(func.body, tirx.SeqStmt) else [func.body]
    tabulated = [new for part in parts for new in _tabulated(part)]
    if len(tabulated) == len(parts):
        return func
    return func.with_body(tirx.SeqStmt(tabulated))


def _tabulated(stmt: tirx.Stmt) -> list[tirx.Stmt]:
    """The statements in place of one."""
    found = _store_of(stmt)
    if found is None:
        return [stmt]
    store, iterations = found
    loads: list[ir.TensorLoad] = []
    calls: list[ir.Call] = []
    tvm_ffi.structural_walk(store.value, [(ir.TensorLoad, loads.append), (ir.Call, calls.append)])
    lowest = _LOWEST.get(str(loads[0].ty.dtype)) if loads else None
    is_one = all(tvm_ffi.structural_equal(load, loads[0]) for load in loads)
    if lowest is None or not is_one or iterations <= 2 * _VALUES:
        return [stmt]
    if not any(map(calls_library, calls)):
        return [stmt]
    number = tirx.Var("value", "int32")
    byte = tirx.Cast(str(loads[0].ty.dtype), number - (-lowest))
    value = tvm_ffi.structural_map(store.value, (ir.TensorLoad, lambda _: byte))
    variables: list[tirx.Var] = []
    tvm_ffi.structural_walk(value, (tirx.Var, variables.append))
    if any(not variable.same_as(number) for variable in variables):
        return [stmt]
    table = tirx.decl_buffer((_VALUES,), str(store.buffer.dtype), "table")
    fill = tirx.BufferStore(table, value, [number])
    place = tirx.Cast("int32", loads[0]) + (-lowest)
    looked_up = tirx.BufferStore(store.buffer, table[place], store.indices)
    return [
        tirx.AllocBuffer(table),
        tirx.For(number, tirx.IntImm("int32", 0), tirx.IntImm("int32", _VALUES), stmt.kind, fill),
        tvm_ffi.structural_map(stmt, (tirx.BufferStore, lambda _: looked_up)),
    ]


def _store_of(stmt: tirx.Stmt) -> tuple[tirx.BufferStore, int] | None:
    """The only statement in loops around each other, and how often it runs."""
    extents = []
    while isinstance(stmt, tirx.For) and isinstance(stmt.extent, tirx.IntImm):
        extents.append(int(stmt.extent.value))
        stmt = stmt.body
    return (stmt, prod(extents)) if extents and isinstance(stmt, tirx.BufferStore) else None
