"""Operands of commands: forms as running values wherever they can be, else as expressions."""

from __future__ import annotations

from functools import lru_cache

from ..device.commands import WORD_MASK
from ..passes.linear import Atom, Key, Linear
from ..program import INT64_MAX, INT64_MIN, Address, Command, CommandForm, Operand, expr
from ..program.expr import Expr
from ..program.operand import OperandSum


def to_expr(form: Linear) -> Expr:
    """The form as a general expression of a program."""
    total = expr.const(form.const)
    for key, factor in form.items:
        total = expr.add(total, _term(key, factor))
    return total


@lru_cache(maxsize=4096)  # forms have the same few again and again
def _term(key: Key, factor: int) -> Expr:
    atom = _atom_expr(key) if isinstance(key, Atom) else expr.var(key)
    return expr.mul(atom, factor)


def to_operand(form: Linear, base: int = 0, address: Address | None = None) -> Operand:
    """The running value of a form, with a number and an argument's address added; what is not
    linear in the loops becomes an expression."""
    const, items = form
    for key, value in items:
        if type(key) is Atom or not INT64_MIN <= value <= INT64_MAX:
            return _sum(form, base, address)
    # In the order of their ids, which is not that of a form.
    steps = items if len(items) < 2 else tuple(sorted(items))
    return Operand(const + base & WORD_MASK, address, steps)  # type: ignore[arg-type]


def _sum(form: Linear, base: int, address: Address | None) -> Operand:
    """`to_operand` of any form."""
    total = OperandSum(form.const + base)
    total.address = address
    for key, value in form.items:
        total.add(_atom_expr(key) if isinstance(key, Atom) else expr.var(key), value)
    return total.operand()


def to_command(form: CommandForm, *values: Linear) -> Command:
    """The command with these values of the fields that are given for each, in their order.

    As ``form.command`` of their operands, without making each of these and its word.
    """
    words = list(form.words)
    for number, (place, value) in enumerate(zip(form.places, values, strict=True)):
        index, base, address = place
        if base is None:
            return form.command(*[to_operand(value) for value in values])
        if value.items or address is not None:
            words[index] = to_operand(value, base, address)
        else:
            words[index] = form.constant(number, value.const)
    return Command(form.funct, words[0], words[1])


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
