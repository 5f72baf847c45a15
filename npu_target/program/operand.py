"""Operands: the words of a program's commands, as sums that run along its loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..device.commands import WORD_BITS, WORD_MASK
from .expr import Expr, Op, ProgramError, wrap_int64

MAX_ADDRESS_UNIT = 31  # log2 of bytes


class Address(NamedTuple):
    """The address of an argument as a word holds it: in units of 2**unit bytes, of which it has to
    be a multiple, from bit `low_bit` on."""

    argument: int  # index
    unit: int = 0
    low_bit: int = 0

    def word(self, address: int) -> int:
        """For the argument at this address. Raises ProgramError for one that is no multiple."""
        if address % (1 << self.unit):
            raise ProgramError(
                f"argument {self.argument} is at {address:#x}, "
                f"needs a multiple of {1 << self.unit} bytes"
            )
        return (address >> self.unit) << self.low_bit & WORD_MASK

    def times(self, factor: int) -> Address:
        """Raises ProgramError unless the factor only moves it to higher bits."""
        low_bit = self.low_bit + factor.bit_length() - 1
        if factor < 1 or factor & (factor - 1) or low_bit >= WORD_BITS:
            raise ProgramError(f"an argument's address cannot be multiplied by {factor}")
        return self._replace(low_bit=low_bit)


@dataclass(slots=True, unsafe_hash=True)  # not frozen: making them takes half as long
class Operand:
    """base + an argument's address + sum of increment x loop variable + sum of coefficient x
    expression, modulo 2**64.

    `base` is unsigned; increments and coefficients are signed int64. The helpers below keep them
    so, merge what belongs together and drop zeros.
    """

    base: int = 0
    address: Address | None = None
    steps: tuple[tuple[int, int], ...] = ()  # (loop id, increment), by loop id
    general: tuple[tuple[int, Expr], ...] = ()  # (coefficient, expression)

    @classmethod
    def of(cls, *terms: Summand) -> Operand:
        """The sum of numbers, expressions and operands; at most one may hold an address.

        Sums, differences and multiples by constants of loop variables become steps.
        """
        total = OperandSum()
        for term in terms:
            total.add(term)
        return total.operand()

    @classmethod
    def argument(cls, index: int, *offsets: Summand, unit: int = 0) -> Operand:
        """The address of what is `offsets` (their sum) from the start of an argument, both in units
        of 2**unit bytes. The argument has to lie at a multiple of that."""
        if len(offsets) == 1 and isinstance(one := offsets[0], Operand) and one.address is None:
            return cls(one.base, Address(index, unit), one.steps, one.general)
        total = OperandSum()
        total.address = Address(index, unit)
        for offset in offsets:
            total.add(offset)
        return total.operand()

    def __add__(self, other: Summand) -> Operand:
        return Operand.of(self, other)

    def __mul__(self, factor: int) -> Operand:
        """Every part times a constant. Raises ProgramError when there is an address and the
        constant is no power of two."""
        total = OperandSum()
        total.add(self, factor)
        return total.operand()

    def running(self, loop_id: int, increment: int) -> Operand:
        """With an increment along a loop that it does not run along yet."""
        increment = wrap_int64(increment)
        if not increment:
            return self
        steps = (*self.steps, (loop_id, increment))
        if self.steps and self.steps[-1][0] > loop_id:
            steps = tuple(sorted(steps))
        return Operand(self.base, self.address, steps, self.general)

    @property
    def is_constant(self) -> bool:
        return self.address is None and not self.steps and not self.general


Summand = int | Expr | Operand


class OperandSum:
    """An operand in the making."""

    __slots__ = ("address", "base", "general", "steps")

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self.address: Address | None = None
        self.steps: dict[int, int] = {}
        self.general: dict[Expr, int] = {}

    def add(self, term: Summand, factor: int = 1) -> None:
        if isinstance(term, Expr):
            self._add_expr(term, factor)
        elif isinstance(term, Operand):
            self._add_operand(term, factor)
        else:
            self.base += term * factor

    def operand(self) -> Operand:
        """The sum, as it is now."""
        if not self.steps and not self.general:
            return Operand(self.base & WORD_MASK, self.address)
        steps: tuple[tuple[int, int], ...] = ()
        if len(self.steps) == 1:
            ((key, by),) = self.steps.items()
            steps = ((key, wrap_int64(by)),) if wrap_int64(by) else ()
        elif self.steps:
            wrapped = [(key, wrap_int64(by)) for key, by in self.steps.items()]
            steps = tuple(sorted([step for step in wrapped if step[1]]))
        general: tuple[tuple[int, Expr], ...] = ()
        if self.general:
            general = tuple(
                [(wrap_int64(by), expr) for expr, by in self.general.items() if wrap_int64(by)]
            )
        return Operand(self.base & WORD_MASK, self.address, steps, general)

    def _add_operand(self, term: Operand, factor: int) -> None:
        if term.address is not None:
            if self.address is not None:
                raise ProgramError("an operand can hold one argument's address, not two")
            self.address = term.address if factor == 1 else term.address.times(factor)
        self.base += term.base * factor
        steps, general = self.steps, self.general
        for loop_id, increment in term.steps:
            steps[loop_id] = steps.get(loop_id, 0) + increment * factor
        for by, expr in term.general:
            general[expr] = general.get(expr, 0) + by * factor

    def _add_expr(self, expr: Expr, factor: int) -> None:
        op = expr.op
        if op is Op.CONST:
            self.base += factor * expr.value
        elif op is Op.VAR:
            self.steps[expr.value] = self.steps.get(expr.value, 0) + factor
        elif op is Op.ADD:
            self._add_expr(expr.args[0], factor)
            self._add_expr(expr.args[1], factor)
        elif op is Op.SUB:
            self._add_expr(expr.args[0], factor)
            self._add_expr(expr.args[1], -factor)
        elif op is Op.MUL and expr.args[1].op is Op.CONST:
            self._add_expr(expr.args[0], factor * expr.args[1].value)
        else:
            self.general[expr] = self.general.get(expr, 0) + factor
