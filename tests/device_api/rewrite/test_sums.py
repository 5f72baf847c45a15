"""Sums that several operands have."""

from __future__ import annotations

from hypothesis import given, settings
from program_strategies import bodies
from program_streams import ARGS, check, command, program, repeating, rewritten_by

from npu_target.device_api import host_cost
from npu_target.program import Command, Loop, Node, Operand, const, floor_div, floor_mod, var

TILE, ROW = var(1), var(2)
shared = rewritten_by("sums")
# Where a tile of a picture begins, its tiles counted row by row.
START = Operand.of(9408 * floor_div(TILE, 7), 96 * floor_mod(TILE, 7))


def tiles(*body: Node) -> Loop:
    return Loop(1, const(100), body)


def load(row: int, address: Operand | int) -> Command:
    return Command(2, Operand.argument(0, START, address), Operand(row))


@given(repeating())
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(shared, body)


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(shared, body)


def test_operands_that_run_differently_share_their_sum() -> None:
    rows = Loop(2, const(3), tuple([load(k, Operand.of(by * ROW)) for k, by in enumerate((8, 32))]))
    body = (tiles(load(0, 0), rows),)
    check(shared, body)
    (outer,) = shared(body)
    words = [outer.body[0].rs1, *[node.rs1 for node in outer.body[1].body]]
    assert {len(word.general) for word in words} == {1}
    assert len({word.general for word in words}) == 1
    before, after = (host_cost(program(*nodes).to_bytes()) for nodes in (body, shared(body)))
    # Two products and two sums for each of three; then two products, a sum, and one for each.
    # The factors are in registers, there and here.
    assert before.instructions - after.instructions == 100 * (3 * 4 - 3 - 3)
    assert before.once_bytes == after.once_bytes


def test_operands_that_run_together_stay() -> None:
    """Those that differ by a number are one sum anyway."""
    body = (tiles(load(0, 0), load(1, 64)),)
    assert shared(body) == body


def test_what_is_added_in_one_instruction_stays() -> None:
    plain = floor_div(TILE, 7)
    body = (tiles(command(Operand.of(plain), 16 * TILE), command(0, Operand.of(plain, TILE))),)
    assert shared(body) == body


def test_sums_of_an_inner_loop_are_not_made_with_those_of_an_outer_one() -> None:
    inner = floor_mod(ROW, 3)
    words = [Operand.of(START, 40 * inner, by * ROW) for by in (8, 32)]
    body = (tiles(Loop(2, const(9), tuple([Command(2, word, Operand()) for word in words]))),)
    check(shared, body)
    ((loop,),) = (shared(body)[0].body,)
    assert {len(node.rs1.general) for node in loop.body} == {2}
