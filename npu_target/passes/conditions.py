"""Conditions of a definition that always hold, which TVM's passes need not see.

A definition guards against channels past the last one, whether or not the blocks of channels come
out even.  Where they do, its schedules come to the same program without the guard, and sooner:
TVM solves every condition around an access for each buffer in it.
"""

from __future__ import annotations

import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.tirx import Var

from .errors import CodegenError
from .linear import Atom, Linear, comparisons

_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE)


def without_sure_conditions(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """An unscheduled function without the comparisons that hold wherever its blocks iterate."""
    forms: dict[Var, Linear] = {}
    extents: list[int] = []

    def enter(block: s_tir.SBlock) -> None:
        for iterator in block.iter_vars:
            first, extent = iterator.dom.min, iterator.dom.extent
            if isinstance(first, tirx.IntImm) and isinstance(extent, tirx.IntImm):
                forms[iterator.var] = Linear.loop(len(extents)) + int(first.value)
                extents.append(int(extent.value))

    tvm_ffi.structural_walk(func.body, (s_tir.SBlock, enter))

    def is_sure(comparison: tirx.Expr) -> bool:
        try:
            return all(_least(form, extents) >= 0 for form in comparisons(comparison, forms))
        except CodegenError:
            return False

    def without(node: tirx.Expr) -> tirx.Expr | None:
        """What is left of a condition; None for nothing."""
        if isinstance(node, tirx.And):
            a, b = without(node.a), without(node.b)
            if a is None or b is None:
                return b if a is None else a
            return node if a.same_as(node.a) and b.same_as(node.b) else tirx.And(a, b)
        return None if isinstance(node, _COMPARISONS) and is_sure(node) else node

    def branch(stmt: tirx.IfThenElse) -> tirx.Stmt:
        condition = without(stmt.condition)
        if condition is None:
            return stmt.then_case
        if condition.same_as(stmt.condition):
            return stmt
        return tirx.IfThenElse(condition, stmt.then_case, stmt.else_case)

    def choice(call: ir.Call) -> tirx.Expr:
        if getattr(call.op, "name", None) != "prim.if_then_else":
            return call
        condition, value, otherwise = call.args
        left = without(condition)
        if left is None:
            return value
        return call if left.same_as(condition) else tirx.if_then_else(left, value, otherwise)

    return tvm_ffi.structural_map(func, ((tirx.IfThenElse, branch), (ir.Call, choice)))


def _least(form: Linear, extents: list[int]) -> float:
    """The least value of a form over loops of these extents."""
    total = form.const
    for key, factor in form.items:
        if isinstance(key, Atom):
            return float("-inf")
        total += min(0, factor * (extents[key] - 1))
    return total
