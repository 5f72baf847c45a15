"""Copies from several arguments into one tile: a choice by a loop becomes a copy for each.

A definition whose tile holds two arguments reads them as `if_then_else(i == 0, a[...], b[...])`.
A command loads from one, so the loop over `i` around such a copy is unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx import BufferStore, Var

from .linear import Linear, comparisons

_CHOICE = "prim.if_then_else"


def separate_sources(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """A lowered function in which each copy reads one argument.  A choice by anything else than
    one loop of the copy stays, and is none that a command makes."""

    def separated(loop: tirx.For) -> tirx.Stmt:
        choice = _choice_of_sources(loop.body)
        if choice is None or not _is_by(loop.loop_var, choice.args[0]):
            return loop
        first = int(loop.min.value)
        copies = [_iteration(loop, choice, first + i) for i in range(int(loop.extent.value))]
        return copies[0] if len(copies) == 1 else tirx.SeqStmt(copies)

    return tvm_ffi.structural_map(func, ((tirx.For, separated),))


def _choice_of_sources(stmt: tirx.Stmt) -> ir.Call | None:
    """What a perfect nest around a copy stores, if that is one of two things of which none is
    padding."""
    while isinstance(stmt, tirx.For):
        stmt = stmt.body
    value = stmt.value if isinstance(stmt, BufferStore) else None
    if not isinstance(value, ir.Call) or getattr(value.op, "name", None) != _CHOICE:
        return None
    return None if isinstance(value.args[2], tirx.IntImm) else value


def _is_by(variable: Var, condition: tirx.Expr) -> bool:
    """Whether a condition depends on this variable, and on no other."""
    found: list[Var] = []
    tvm_ffi.structural_walk(condition, (Var, found.append))
    return bool(found) and all(variable.same_as(other) for other in found)


def _iteration(loop: tirx.For, choice: ir.Call, index: int) -> tirx.Stmt:
    """One iteration of a loop, whose annotations are those of the next loop then."""
    forms = comparisons(choice.args[0], {loop.loop_var: Linear(index)})
    taken = choice.args[1 if all(form.const >= 0 for form in forms) else 2]
    mine: Mapping[Var, tirx.Expr] = {loop.loop_var: tirx.IntImm(loop.loop_var.ty.dtype, index)}

    def value(call: ir.Call) -> tirx.Expr:
        return taken if call.same_as(choice) else call

    body = tvm_ffi.structural_map(loop.body, ((ir.Call, value),))
    body = tvm_ffi.structural_map(body, ((Var, lambda var: mine.get(var, var)),))
    if loop.annotations and isinstance(body, tirx.For):
        annotations = {**dict(loop.annotations), **dict(body.annotations)}
        body = tirx.For(
            body.loop_var, body.min, body.extent, body.kind, body.body, None, annotations
        )
    return body
