"""What parts of a program have in common: commands and loops, but for the numbers that operands
begin with."""

from __future__ import annotations

from typing import NamedTuple

from ..device.command_set import CommandSet
from ..device.commands import RowBits
from ..program import Command, Expr, Loop, Node, Op, Operand


class Shape(NamedTuple):
    """A node, a number that those like it have, the bases of its operands, where each of these has
    the numbers of rows (None: is an address in an argument), and how many commands and loops it
    is."""

    node: Node
    number: int
    bases: list[int]
    rows: list[RowBits | None]
    size: int


class Shapes:
    """Gives nodes that differ in their operands' bases and in the names of their loops the same
    number.

    A variable is told by how many loops lie between the command and its own, so that what is said
    of a node holds wherever it stands.
    """

    def __init__(self, commands: CommandSet) -> None:
        self._commands = commands
        self.depths: dict[int, int] = {}  # of the loops around, by id
        self._numbers: dict[object, int] = {}

    def of(self, node: Node) -> Shape:
        """The shape of a node inside of the loops around."""
        if isinstance(node, Command):
            return self.command(node)
        self.enter(node)
        parts = [self.of(part) for part in node.body]
        self.leave(node)
        return self.loop(node, parts)

    def enter(self, loop: Loop) -> None:
        """Go inside of a loop."""
        self.depths[loop.loop_id] = len(self.depths)

    def leave(self, loop: Loop) -> None:
        """Leave the loop entered last."""
        del self.depths[loop.loop_id]

    def command(self, command: Command) -> Shape:
        """The shape of a command."""
        rs1, rs2 = command.rs1, command.rs2
        key = command.funct, self._word(rs1), self._word(rs2)
        number = self._numbers.setdefault(key, len(self._numbers))
        rows: list[RowBits | None] = [(), ()]
        if not self._commands.is_setting(command.funct, rs1.base):
            bits = self._commands.row_bits(command.funct, rs1.base)
            rows = [
                of_rows if word.address is None else None
                for word, of_rows in zip((rs1, rs2), bits, strict=True)
            ]
        return Shape(command, number, [rs1.base, rs2.base], rows, 1)

    def loop(self, node: Loop, parts: list[Shape]) -> Shape:
        """The shape of a loop that stands inside of the loops around, its body of these shapes."""
        extent = node.extent.value if node.extent.op is Op.CONST else self._expression(node.extent)
        key = extent, tuple([part.number for part in parts])
        number = self._numbers.setdefault(key, len(self._numbers))
        bases = [base for part in parts for base in part.bases]
        rows = [of_rows for part in parts for of_rows in part.rows]
        return Shape(node, number, bases, rows, 1 + sum([part.size for part in parts]))

    def _word(self, word: Operand) -> object:
        if not word.steps and not word.general:
            return word.address
        depth = len(self.depths)
        steps = tuple(sorted([(depth - self.depths[loop_id], by) for loop_id, by in word.steps]))
        if not word.general:
            return word.address, steps
        general = [(by, self._expression(expr)) for by, expr in word.general]
        return word.address, steps, tuple(general)

    def _expression(self, expr: Expr) -> object:
        if expr.op is Op.CONST:
            return expr.value
        if expr.op is Op.VAR:
            return "variable", len(self.depths) - self.depths[expr.value]
        return expr.op, tuple([self._expression(arg) for arg in expr.args])
