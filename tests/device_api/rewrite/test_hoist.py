"""Sums and conditions made where they change least."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from program_strategies import bodies
from program_streams import ARGS, check, command, program, repeating, rewritten_by, stream, text

from npu_target.device_api import host_cost
from npu_target.program import (
    Expr,
    Loop,
    Node,
    const,
    eq,
    floor_mod,
    le,
    logical_and,
    logical_not,
    lt,
    maximum,
    minimum,
    var,
)

TILE, ROW = var(1), var(2)
hoisted = rewritten_by("hoisting")
ZEROS = maximum(0, 3 - 32 * floor_mod(TILE, 7))  # rows of zeros above a tile


def nest(condition: Expr, extent: int = 4) -> tuple[Node, ...]:
    asked = Loop(0, condition, (command(16 * ROW, 64 * TILE),))
    return (Loop(1, const(9), (Loop(2, const(extent), (asked, command(ROW))),)),)


@given(repeating())
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(hoisted, body)


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    """Numbers wrap around here."""
    check(hoisted, body)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (le(0, ZEROS - 16 * ROW - 1), "16*i2 <= max(0, (-32)*(i1 % 7) + 3) + (-1)"),
        (lt(2 * TILE + ZEROS, 5 * ROW), "2*i1 + 1 + max(0, (-32)*(i1 % 7) + 3) <= 5*i2"),
        (le(0, TILE - ROW + 3), "i2 <= i1 + 3"),
        (lt(7, 3 * ROW), "3 <= i2"),
        (le(3 * ROW, 7), "i2 <= 2"),
        (lt(3 * ROW, 6), "i2 <= 1"),
        (eq(2 * ROW, 6), "i2 == 3"),
        (eq(4 * TILE, 2 * ROW), "2*i2 == 4*i1"),
        (logical_and(le(ROW, 2), le(0, TILE - ROW)), "i2 <= 2 and i2 <= i1"),
        (logical_not(le(TILE + 1, ROW)), "(i1 + 1 <= i2) == 0"),
    ],
)
def test_what_the_innermost_loop_changes_is_compared_with_the_rest(condition, found) -> None:
    body = nest(condition)
    check(hoisted, body)
    (line,) = [line for line in text(*hoisted(body)) if line.startswith("if")]
    assert line.removeprefix("if ").split(":  #")[0] == found


def test_a_condition_that_is_never_met() -> None:
    body = nest(eq(2 * ROW, 5))
    assert stream(hoisted(body)) == stream(body)
    assert "if 0" in " ".join(text(*hoisted(body))) or "0..0" in " ".join(text(*hoisted(body)))


def test_a_comparison_that_might_wrap_around_stays() -> None:
    body = nest(le(ROW * (1 << 62), TILE * (1 << 62)))
    check(hoisted, body)
    assert hoisted(body) == body


def test_sums_of_outer_loops_come_first() -> None:
    rows = minimum(16, (48 - 16 * ROW) + ZEROS)
    body = (Loop(1, const(9), (Loop(2, const(4), (command(rows, 64 * ROW),)),)),)
    check(hoisted, body)
    before, after = (host_cost(program(*nodes).to_bytes()) for nodes in (body, hoisted(body)))
    assert before.instructions - after.instructions == 9 * 4 - 9  # 48 is added in the outer loop


def test_nothing_to_do_is_nothing_done() -> None:
    body = nest(le(ROW, 2))
    assert hoisted(body) == body
