"""An expander of programs written from their definition alone, to compare the C++ one with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

from npu_target.program import Expr, Loop, Node, Op, Operand, Program

_BINARY: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.FLOOR_DIV: operator.floordiv,
    Op.FLOOR_MOD: operator.mod,
    Op.MIN: min,
    Op.MAX: max,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.AND: lambda a, b: bool(a) and bool(b),
    Op.OR: lambda a, b: bool(a) or bool(b),
}


def to_int64(value: int) -> int:
    return int.from_bytes((int(value) % 2**64).to_bytes(8, "little"), "little", signed=True)


def evaluate(expr: Expr, variables: Mapping[int, int]) -> int:
    """Raises ZeroDivisionError as the host core would trap."""
    if expr.op is Op.CONST:
        return expr.value
    if expr.op is Op.VAR:
        return variables[expr.value]
    values = [evaluate(arg, variables) for arg in expr.args]
    if expr.op is Op.SELECT:
        return values[1] if values[0] else values[2]
    if expr.op is Op.TABLE:
        index, *words = values
        assert index >= 0
        return words[index]
    return to_int64(_BINARY[expr.op](*values))


def operand_value(operand: Operand, variables: Mapping[int, int], addresses: Sequence[int]) -> int:
    value = operand.base
    if operand.address is not None:
        value += operand.address.word(addresses[operand.address.argument])
    value += sum(increment * variables[loop_id] for loop_id, increment in operand.steps)
    value += sum(by * evaluate(expr, variables) for by, expr in operand.general)
    return value % 2**64


def expand(program: Program, addresses: Mapping[str, int]) -> list[tuple[int, int, int]]:
    ordered = [addresses[arg.name] for arg in program.places]

    def run(nodes: Sequence[Node], variables: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
        for node in nodes:
            if isinstance(node, Loop):
                for value in range(evaluate(node.extent, variables)):
                    yield from run(node.body, {**variables, node.loop_id: value})
            else:
                yield (
                    node.funct,
                    operand_value(node.rs1, variables, ordered),
                    operand_value(node.rs2, variables, ordered),
                )

    return list(run(program.body, {}))
