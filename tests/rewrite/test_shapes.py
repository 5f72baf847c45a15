"""Shapes: what is alike but for numbers has the same number."""

from __future__ import annotations

from program_streams import command

from npu_target.devices.gemmini.isa import COMMANDS
from npu_target.program import Command, Loop, Node, Operand, const, le, var
from npu_target.rewrite.shapes import Shapes


def nest(loop_id: int, row: int, extent: int = 4, by: int = 16) -> Loop:
    index = var(loop_id)
    asked = Loop(0, le(index, const(2)), (command(by * index + row),))
    return Loop(loop_id, const(extent), (asked, command(row, by * index)))


def numbers(*nodes: Node) -> list[int]:
    shapes = Shapes(COMMANDS)
    return [shapes.of(node).number for node in nodes]


def test_bases_and_names_of_loops_do_not_count() -> None:
    a, b = numbers(nest(1, 0), nest(7, 48))
    assert a == b


def test_all_else_does() -> None:
    different = numbers(
        nest(1, 0),
        nest(1, 0, extent=5),
        nest(1, 0, by=8),
        command(),
        Command(3, command().rs1, command().rs2),
        Command(2, Operand(), command().rs2),
    )
    assert len(set(different)) == len(different)


def test_rows_and_sizes() -> None:
    shape = Shapes(COMMANDS).of(nest(1, 32))
    assert shape.size == 4
    assert shape.bases == [0, 32 + (16 << 32) + (16 << 48)] * 2
    assert shape.rows == [None, ((0, 26),)] * 2
    assert Shapes(COMMANDS).of(Command(0, Operand(), Operand())).rows == [(), ()]
