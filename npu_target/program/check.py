"""Whether the parts of a program fit together."""

from __future__ import annotations

from collections.abc import Iterable

from ..device.commands import WORD_BITS, WORD_MASK
from .expr import INT64_MAX, INT64_MIN, MAX_LOOP_ID, Expr, Op, ProgramError
from .nodes import (
    MAX_EXPR_DEPTH,
    MAX_LOOP_DEPTH,
    Command,
    Node,
)
from .operand import MAX_ADDRESS_UNIT, Address, Operand


def check_body(body: Iterable[Node], where: str, n_args: int) -> None:
    """Raise ProgramError, which begins with `where`, unless indices, ids and depths are those of a
    program with so many arguments."""
    _Checker(where, n_args).body(body, ())


class _Checker:
    def __init__(self, where: str, n_args: int) -> None:
        self.where = where
        self.n_args = n_args
        self.variables: dict[Expr, frozenset[int]] = {}

    def body(self, nodes: Iterable[Node], path: tuple[int, ...]) -> None:
        for node in nodes:
            if isinstance(node, Command):
                if not 0 <= node.funct <= 127:
                    raise ProgramError(f"{self.where}: funct is {node.funct}, needs 0 to 127")
                self.operand(node.rs1, path)
                self.operand(node.rs2, path)
                continue
            if not 0 <= node.loop_id <= MAX_LOOP_ID:
                raise ProgramError(f"{self.where}: loop id {node.loop_id} is no uint32")
            if node.loop_id in path:
                raise ProgramError(f"{self.where}: loop i{node.loop_id} is inside itself")
            if len(path) == MAX_LOOP_DEPTH:
                raise ProgramError(f"{self.where}: loops are nested deeper than {MAX_LOOP_DEPTH}")
            if not node.extent.is_const:
                self.expr(node.extent, path)
            self.body(node.body, (*path, node.loop_id))

    def operand(self, operand: Operand, path: tuple[int, ...]) -> None:
        if not 0 <= operand.base <= WORD_MASK:
            raise ProgramError(f"{self.where}: base {operand.base} is no uint64")
        if operand.address is not None:
            self.address(operand.address)
        for loop_id, increment in operand.steps:
            if loop_id not in path or not INT64_MIN <= increment <= INT64_MAX:
                self.bound(loop_id, path)
                self.int64(increment)
        for coefficient, expr in operand.general:
            self.int64(coefficient)
            self.expr(expr, path)

    def address(self, address: Address) -> None:
        if not 0 <= address.argument < self.n_args:
            raise ProgramError(
                f"{self.where}: an operand has the address of argument {address.argument}, "
                f"there are {self.n_args}"
            )
        if not (0 <= address.unit <= MAX_ADDRESS_UNIT and 0 <= address.low_bit < WORD_BITS):
            raise ProgramError(
                f"{self.where}: an address is in units of 2**{address.unit} bytes from bit "
                f"{address.low_bit} on, needs at most 2**{MAX_ADDRESS_UNIT} and a bit of the word"
            )

    def int64(self, value: int) -> None:
        if not INT64_MIN <= value <= INT64_MAX:
            raise ProgramError(f"{self.where}: {value} is no int64")

    def bound(self, loop_id: int, path: tuple[int, ...]) -> None:
        if loop_id not in path:
            raise ProgramError(f"{self.where}: i{loop_id} is used outside its loop")

    def expr(self, expr: Expr, path: tuple[int, ...]) -> None:
        if expr.depth > MAX_EXPR_DEPTH:
            raise ProgramError(
                f"{self.where}: an expression is nested deeper than {MAX_EXPR_DEPTH}"
            )
        for loop_id in self.variables_of(expr):
            self.bound(loop_id, path)

    def variables_of(self, expr: Expr) -> frozenset[int]:
        found = self.variables.get(expr)
        if found is None:
            if expr.op is Op.VAR:
                found = frozenset({expr.value})
            else:
                found = frozenset().union(*(self.variables_of(arg) for arg in expr.args))
            self.variables[expr] = found
        return found
