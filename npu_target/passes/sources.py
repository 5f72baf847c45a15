"""Copies from several places into one tile: a choice by a loop becomes a copy for each.

A definition whose tile holds two arguments reads them as `if_then_else(i == 0, a[...], b[...])`.
A command loads from one, so the loop over `i` around such a copy is cut where the choice changes.
"""

from __future__ import annotations

from itertools import pairwise

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx import BufferStore, Var

from .linear import Linear, comparisons

_CHOICE = "prim.if_then_else"


def separate_sources(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """A lowered function in which each copy reads one argument.  A choice by anything else than
    one loop of the copy stays, and is none that a command makes."""

    def separated(loop: tirx.For) -> tirx.Stmt:
        value = _stored(loop.body)
        if value is None or not _is_choice(value, loop.loop_var):
            return loop
        start, extent = int(loop.min.value), int(loop.extent.value)
        taken = [_taken(loop, value, start + i) for i in range(extent)]
        cuts = [0, *(i for i in range(1, extent) if not taken[i].same_as(taken[i - 1])), extent]
        copies = [
            _iterations(loop, value, start + first, end - first, taken[first])
            for first, end in pairwise(cuts)
        ]
        return copies[0] if len(copies) == 1 else tirx.SeqStmt(copies)

    return tvm_ffi.structural_map(func, ((tirx.For, separated),))


def _stored(stmt: tirx.Stmt) -> tirx.Expr | None:
    """What a perfect nest around a copy stores."""
    while isinstance(stmt, tirx.For):
        stmt = stmt.body
    return stmt.value if isinstance(stmt, BufferStore) else None


def _is_choice(value: tirx.Expr, variable: Var) -> bool:
    """Whether a value is one of two by this variable, and none of them padding."""
    if not isinstance(value, ir.Call) or getattr(value.op, "name", None) != _CHOICE:
        return False
    return not isinstance(value.args[2], tirx.IntImm) and _is_by(variable, value.args[0])


def _is_by(variable: Var, condition: tirx.Expr) -> bool:
    """Whether a condition depends on this variable, and on no other."""
    found: list[Var] = []
    tvm_ffi.structural_walk(condition, (Var, found.append))
    return bool(found) and all(variable.same_as(other) for other in found)


def _taken(loop: tirx.For, value: tirx.Expr, index: int) -> tirx.Expr:
    """Of a value the one that an iteration takes, which may be chosen among more than two."""
    while _is_choice(value, loop.loop_var):
        forms = comparisons(value.args[0], {loop.loop_var: Linear(index)})
        value = value.args[1 if all(form.const >= 0 for form in forms) else 2]
    return value


def _iterations(
    loop: tirx.For, choice: tirx.Expr, first: int, count: int, taken: tirx.Expr
) -> tirx.Stmt:
    """Iterations of a loop that read the same argument.  The annotations of a loop of one iteration
    are those of the next loop then."""
    body = tvm_ffi.structural_map(
        loop.body, ((ir.Call, lambda call: taken if call.same_as(choice) else call),)
    )
    if count > 1:
        return restricted(loop, body, first, count)
    body = replaced(body, loop.loop_var, tirx.IntImm(loop.loop_var.ty.dtype, first))
    if loop.annotations and isinstance(body, tirx.For):
        annotations = {**dict(loop.annotations), **dict(body.annotations)}
        body = tirx.For(
            body.loop_var, body.min, body.extent, body.kind, body.body, None, annotations
        )
    return body


def replaced(stmt: tirx.Stmt, variable: Var, value: tirx.Expr) -> tirx.Stmt:
    """A statement with a value for a variable."""
    return tvm_ffi.structural_map(
        stmt, ((Var, lambda var: value if var.same_as(variable) else var),)
    )


def restricted(loop: tirx.For, body: tirx.Stmt, first: int, count: int) -> tirx.For:
    """``count`` iterations of a loop from the ``first`` on, with a variable of their own."""
    dtype = loop.loop_var.ty.dtype
    variable = tirx.Var(str(loop.loop_var.name), dtype)
    body = replaced(
        body, loop.loop_var, variable + tirx.IntImm(dtype, first) if first else variable
    )
    extent = tirx.IntImm(dtype, count)
    zero = tirx.IntImm(dtype, 0)
    return tirx.For(variable, zero, extent, loop.kind, body, None, dict(loop.annotations))
