"""Programs with a loop's variable replaced by a multiple of it and a number."""

from __future__ import annotations

from operator import is_

from ..device.commands import WORD_MASK
from ..program import Command, Expr, Loop, Node, Op, Operand, add, const, mul, var, wrap_int64
from ..program.expr import MAKE


class Replacement:
    """``factor`` x the variable of a loop + ``offset``, in place of that variable."""

    def __init__(self, loop_id: int, factor: int, offset: int) -> None:
        self.loop_id = loop_id
        self.factor = factor
        self.offset = offset
        self._expressions: dict[Expr, Expr] = {}

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """A body that is inside of the loop: the same object if the variable is not in it."""
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Command):
                rs1, rs2 = self.operand(node.rs1), self.operand(node.rs2)
                if rs1 is not node.rs1 or rs2 is not node.rs2:
                    node = Command(node.funct, rs1, rs2)
            else:
                extent, body = self.expression(node.extent), self.nodes(node.body)
                if extent is not node.extent or body is not node.body:
                    node = Loop(node.loop_id, extent, body)
            found.append(node)
        return nodes if all(map(is_, found, nodes)) else tuple(found)

    def operand(self, operand: Operand) -> Operand:
        """The word where the variable is replaced: the same object if it is not in it."""
        base, steps, general = operand.base, operand.steps, operand.general
        if not steps and not general:
            return operand
        mine = [by for loop_id, by in steps if loop_id == self.loop_id]
        if mine:
            base = (base + sum(mine) * self.offset) & WORD_MASK
            others = [step for step in steps if step[0] != self.loop_id]
            by = wrap_int64(sum(mine) * self.factor)
            steps = tuple(sorted([*others, (self.loop_id, by)]) if by else others)
        if general:
            replaced = [(by, self.expression(expr)) for by, expr in general]
            if any(new is not old for (_, new), (_, old) in zip(replaced, general, strict=True)):
                rest = Operand(base, operand.address, steps)
                return Operand.of(rest, *[Operand.of(expr) * by for by, expr in replaced])
        return Operand(base, operand.address, steps, general) if mine else operand

    def expression(self, expr: Expr) -> Expr:
        """The expression where the variable is replaced: the same object if it is not in it."""
        if expr.op is Op.CONST:
            return expr
        if expr.op is Op.VAR:
            if expr.value != self.loop_id:
                return expr
            return add(mul(var(self.loop_id), const(self.factor)), const(self.offset))
        found = self._expressions.get(expr)
        if found is None:
            args = tuple([self.expression(arg) for arg in expr.args])
            found = expr if all(map(is_, args, expr.args)) else MAKE[expr.op](*args)
            self._expressions[expr] = found
        return found
