"""Loops cut where conditions are decided."""

from __future__ import annotations

from hypothesis import given, settings
from program_strategies import bodies
from program_streams import ARGS, check, command, repeating, rewritten_by, text

from npu_target.devices.gemmini.isa import Preload
from npu_target.program import Command, Loop, Node, Operand, const, le, var

ROW, TILE = var(1), var(2)
split = rewritten_by("splitting")


def often(*body: Node) -> tuple[Node, ...]:
    """A body run so often that fewer instructions are worth more code."""
    return (Loop(9, const(1000), body),)


@given(repeating().map(lambda body: often(*body)[0].body * 2))
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(split, body)


@given(repeating())
def test_the_stream_of_what_runs_often_stays(body: tuple[Node, ...]) -> None:
    check(split, (Loop(99, const(7), body),))


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(split, body)


def test_the_first_iteration_and_the_others() -> None:
    body = often(Loop(1, const(30), (Loop(0, le(ROW, const(0)), (command(1),)), command(16 * ROW))))
    assert text(*split(body)) == text(
        *often(command(1), command(0), Loop(1, const(29), (command(16 * ROW + 16),)))
    )


def test_a_condition_on_two_loops() -> None:
    """As padding has it: row -1 of an image in tiles of 8."""
    asked = Loop(0, le(0, 8 * TILE + ROW - 1), (command(16 * ROW, 256 * TILE),))
    body = often(Loop(2, const(14), (Loop(1, const(9), (asked,) * 3),)))
    found = split(body)
    check(split, body)
    assert "if" not in " ".join(text(*found))


def test_code_that_runs_once_is_not_there_twice() -> None:
    body = (Loop(1, const(9), (Loop(0, le(ROW, const(0)), (command(1),)), command(16 * ROW))),)
    assert split(body) == body


def test_what_is_around_the_arrays_steps_is_not_there_twice() -> None:
    asked = Loop(0, le(TILE, const(0)), (command(1),))
    steps = Loop(1, const(4), (Command(Preload.funct, Operand.of(16 * ROW), Operand()),))
    body = often(Loop(2, const(30), (asked, steps)))
    assert split(body) == body
    copies = Loop(1, const(4), (command(16 * ROW),))
    assert split(often(Loop(2, const(30), (asked, copies)))) != often(
        Loop(2, const(30), (asked, copies))
    )
