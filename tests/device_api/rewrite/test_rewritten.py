"""All passes together: the stream of commands stays, and the host has less to do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from program_strategies import bodies
from program_streams import ARGS, check, command, program, repeating, rewritten_by, stream

from npu_target import rewriting
from npu_target.device_api import host_cost
from npu_target.devices.gemmini.isa import COMMANDS, ComputePreloaded, Preload
from npu_target.program import (
    Command,
    Loop,
    Node,
    Operand,
    Program,
    ProgramError,
    const,
    eq,
    floor_div,
    le,
    nodes_of,
    var,
)

rewritten = rewritten_by(*rewriting.PASSES)


@given(repeating())
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(rewritten, body)


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(rewritten, body)


@pytest.mark.slow
@given(repeating(depth=4))
@settings(max_examples=5000)
def test_the_streams_of_many_programs_stay(body: tuple[Node, ...]) -> None:
    check(rewritten, body)


@given(repeating())
def test_again_nothing_is_decided_or_joined(body: tuple[Node, ...]) -> None:
    decided = rewritten_by("conditions")
    once = decided(rewritten(body))
    assert decided(once) == once


def test_a_layers_loop_takes_less_of_the_host() -> None:
    """A nest as placement leaves it: copies under conditions, pairs of steps, two versions."""
    tile, step = var(1), var(2)

    def half(version: int) -> tuple[Node, ...]:
        copies = [
            Loop(0, le(step, const(1)), (command(16 * step + 64 * version + offset, 64 * tile),))
            for offset in (0, 1024)
        ]
        pair = (
            Command(6, Operand.of(16 * step + 4096 * version), Operand.of(256 * step)),
            Command(5, Operand.of(32 * step + 4096 * version), Operand()),
        )
        return (Loop(2, const(8), (*copies, *pair)),)

    body = (Loop(1, const(50), (*half(0), *half(1))),)
    before, after = (host_cost(program(*nodes).to_bytes()) for nodes in (body, rewritten(body)))
    assert after.commands == before.commands
    assert before.instructions_per_command > 3.5
    assert after.instructions_per_command < 2.5


def tiles(n_questions: int, n_pairs: int) -> tuple[Node, ...]:
    """A long loop of tiles, copies under conditions between the pairs of steps of each."""
    tile, step = var(1), var(2)
    copies = [
        Loop(0, eq(step, const(k)), (command(16 * k, 64 * tile + 4096 * k),))
        for k in range(n_questions)
    ]
    row = var(3)
    pair = (
        Command(Preload.funct, Operand.of(64 * step + 16 * row), Operand.of(16 * row)),
        Command(ComputePreloaded.funct, Operand.of(16 * step + 4096), Operand()),
    )
    steps = Loop(2, const(7), (*copies, Loop(3, const(n_pairs), pair)))
    return (Loop(1, const(200), (steps,)),)


def test_conditions_around_the_arrays_steps_are_decided_where_they_are_too_many() -> None:
    body = tiles(7, 2)
    check(rewritten, body)
    before, after = (host_cost(program(*nodes).to_bytes()) for nodes in (body, rewritten(body)))
    assert before.instructions_per_command > 3
    assert after.instructions_per_command < 2.5
    assert after.loop_bytes < 12 * 1024


def test_a_host_that_has_little_to_do_asks_them() -> None:
    body = tiles(1, 4)
    found = rewritten(body)
    assert host_cost(program(*found).to_bytes()).instructions_per_command < 3
    assert sum(isinstance(node, Loop) and node.loop_id == 0 for node in nodes_of(found)) == 1


def test_nothing_is_rewritten_without_a_gain() -> None:
    body = (command(), Loop(1, const(3), (command(16 * var(1), 256 * var(1)),)), command(64))
    passes = set(rewriting.PASSES) - {"budget"}  # so short a program has more than 3 a command
    assert rewritten_by(*passes)(body) == body


def test_each_pass_is_shown_what_it_leaves() -> None:
    shown: dict[str, Program] = {}
    body = tiles(7, 2)
    found = rewriting.rewritten(program(), body, COMMANDS, show=shown.__setitem__)
    assert tuple(shown) == rewriting.PASSES
    assert shown["budget"] == found
    assert len({each.body for each in shown.values()}) > 2
    for each in shown.values():
        assert stream(each.body) == stream(body)


def test_a_program_has_the_bytes_that_it_is_read_from() -> None:
    found = rewriting.rewritten(program(), tiles(7, 2), COMMANDS)
    assert Program.from_bytes(found.to_bytes()) == found
    assert program(*found.body).to_bytes() == found.to_bytes()


def test_what_divides_by_zero_is_refused() -> None:
    body = (Loop(1, const(0), (command(floor_div(7, var(1))),)), command())
    assert rewritten(body) == (command(),)
    body = (Loop(1, const(1), (command(floor_div(7, var(1))),)),)
    with pytest.raises(ProgramError, match=r"program k: .*non-zero divisor"):
        rewritten(body)


def test_a_body_that_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ProgramError, match="enclosing loops"):
        rewritten((command(var(1)),))
