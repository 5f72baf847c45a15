"""All passes together: the stream of commands stays, and the host has less to do."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from program_strategies import bodies
from program_streams import ARGS, check, command, program, repeating

from npu_target.device_api import host_cost
from npu_target.devices.gemmini.isa import COMMANDS
from npu_target.program import Command, Loop, Node, Operand, const, le, nodes_of, var
from npu_target.rewrite import rewritten


@given(repeating())
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(partial(rewritten, commands=COMMANDS), body)


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(partial(rewritten, commands=COMMANDS), body)


@pytest.mark.slow
@given(repeating(depth=4))
@settings(max_examples=5000)
def test_the_streams_of_many_programs_stay(body: tuple[Node, ...]) -> None:
    check(partial(rewritten, commands=COMMANDS), body)


@given(repeating())
def test_again_nothing_is_decided_or_joined(body: tuple[Node, ...]) -> None:
    from npu_target.rewrite.conditions import decided

    once = decided(rewritten(body, COMMANDS))
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
    before, after = (
        host_cost(program(*nodes).to_bytes()) for nodes in (body, rewritten(body, COMMANDS))
    )
    assert after.commands == before.commands
    assert before.instructions_per_command > 3.5
    assert after.instructions_per_command < 2.5


def test_nothing_is_rewritten_without_a_gain() -> None:
    body = (command(), Loop(1, const(3), (command(16 * var(1), 256 * var(1)),)), command(64))
    assert rewritten(body, COMMANDS) == body
    assert len(list(nodes_of(rewritten(body, COMMANDS)))) == 4
