"""Operands of commands: forms as running values wherever they can be, else as expressions."""

from __future__ import annotations

from ..device.commands import WORD_MASK
from ..passes.linear import Atom, Linear
from ..program import expr, wrap_int64
from ..program.expr import Expr
from ..program.operand import Operand, OperandSum


def to_expr(form: Linear) -> Expr:
    """The form as a general expression of a program."""
    total = expr.const(form.const)
    for key, value in form.items:
        atom = _atom_expr(key) if isinstance(key, Atom) else expr.var(key)
        total = expr.add(total, expr.mul(atom, expr.const(value)))
    return total


def to_operand(form: Linear) -> Operand:
    """The running value of a form; what is not linear in the loops becomes an expression."""
    for key, _ in form.items:
        if type(key) is Atom:
            break
    else:
        steps = [(key, by) for key, value in form.items if (by := wrap_int64(value))]
        if len(steps) > 1:
            steps.sort()
        return Operand(form.const & WORD_MASK, None, tuple(steps))  # type: ignore[arg-type]
    total = OperandSum(form.const)
    for key, value in form.items:
        if type(key) is Atom:
            total.add(_atom_expr(key), value)
        else:
            by = total.steps.get(key, 0) + value  # type: ignore[arg-type]
            total.steps[key] = by  # type: ignore[index]
    return total.operand()


def to_number(form: Linear) -> Operand | int:
    """An operand, or an int where it is always the same."""
    return form.const if form.is_const else to_operand(form)


def _atom_expr(atom: Atom) -> Expr:
    return _EXPR[atom.op](to_expr(atom.a), to_expr(atom.b))


_EXPR = {
    "floordiv": expr.floor_div,
    "floormod": expr.floor_mod,
    "min": expr.minimum,
    "max": expr.maximum,
}
