"""Conditions: decided by the loops around, joined with their neighbours."""

from __future__ import annotations

from hypothesis import given
from program_strategies import bodies
from program_streams import ARGS, check, command, repeating, rewritten_by, text

from npu_target.program import Loop, Node, Operand, const, eq, le, logical_and, lt, minimum, var

INDEX = var(1)
decided = rewritten_by("conditions")


@given(repeating())
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(decided, body)


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(decided, body)


def test_conditions_that_a_loop_decides() -> None:
    always, never, open_ = le(const(-2), INDEX), lt(INDEX, const(0)), le(INDEX, const(2))
    body = (
        Loop(1, const(4), (
            Loop(0, always, (command(16 * INDEX),)),
            Loop(0, never, (command(32 * INDEX),)),
            Loop(0, eq(always, 0), (command(48 * INDEX),)),
            Loop(0, logical_and(open_, always), (command(64 * INDEX),)),
        )),
    )  # fmt: skip
    assert text(*decided(body)) == text(
        Loop(1, const(4), (
            command(16 * INDEX),
            Loop(0, open_, (command(64 * INDEX),)),
        )),
    )  # fmt: skip


def test_neighbours_with_the_same_condition_are_asked_once() -> None:
    first = le(INDEX, const(0))
    body = (
        Loop(1, const(4), (
            Loop(0, first, (command(0),)),
            Loop(0, first, (command(16),)),
            command(32),
            Loop(0, first, (command(48),)),
        )),
    )  # fmt: skip
    assert text(*decided(body)) == text(
        Loop(1, const(4), (
            Loop(0, first, (command(0), command(16))),
            command(32),
            Loop(0, first, (command(48),)),
        )),
    )  # fmt: skip


def test_neighbours_that_a_dropped_one_was_between() -> None:
    first = le(INDEX, const(0))
    never = Loop(0, le(const(9), INDEX), (command(64),))
    body = (
        Loop(1, const(4), (Loop(0, first, (command(0),)), never, Loop(0, first, (command(1),)))),
    )
    ((loop,),) = (decided(body),)
    assert isinstance(loop, Loop)
    both = (Loop(0, first, (command(0), command(1))),)
    assert loop == Loop(1, const(4), both)


def test_limits_of_operands_that_are_never_reached() -> None:
    rows = minimum(16, 20 - INDEX)
    ((loop,),) = (decided((Loop(1, const(4), (command(Operand.of(rows)),)),)),)
    assert isinstance(loop, Loop)
    assert loop.body == (command(16),)


def test_loops_of_one_iteration_and_of_none() -> None:
    body = (Loop(1, const(1), (command(7 + 16 * INDEX),)), Loop(2, const(0), (command(),)))
    assert decided(body) == (command(7),)
