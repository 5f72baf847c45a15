"""Loops with fewer iterations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from program_strategies import bodies
from program_streams import ARGS, check, command, repeating, rewritten_by, text

from npu_target.program import Loop, Node, const, le, var

ROW = var(1)
unrolled = rewritten_by("unrolling")


def often(*body: Node) -> tuple[Node, ...]:
    return (Loop(9, const(1000), body),)


@given(repeating())
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(unrolled, (Loop(99, const(7), body),))


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(unrolled, body)


def test_a_short_loop_is_gone() -> None:
    first = Loop(0, le(ROW, const(0)), (command(7),))
    others = tuple([command(row) for row in range(16)])
    body = often(Loop(1, const(3), (first, command(16 * ROW))), *others)
    assert text(*unrolled(body)) == text(
        *often(command(7), command(0), command(16), command(32), *others)
    )


@pytest.mark.parametrize(
    ("extent", "commands", "loop", "left"), [(64, 2, 8, 0), (63, 2, 9, 0), (13, 2, 2, 1)]
)
def test_a_long_one_has_fewer_iterations(extent, commands, loop, left) -> None:
    body = tuple([command(16 * ROW + 1000 * k, 256 * ROW) for k in range(commands)])
    ((outer,),) = (unrolled(often(Loop(1, const(extent), body))),)
    inner, *rest = outer.body
    assert inner.extent == const(loop)
    assert len(rest) == left * commands


def test_what_runs_seldom_stays() -> None:
    body = (Loop(1, const(8), (command(16 * ROW),)),)
    assert unrolled(body) == body


def test_a_body_of_many_commands_stays() -> None:
    body = often(Loop(1, const(4), tuple([command(16 * ROW + 64 * k) for k in range(10)])))
    assert unrolled(body) == body
