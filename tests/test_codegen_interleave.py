"""Loads and stores in turns: the same commands, in an order that changes nothing but the time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_programs import OPERATORS, check_rows, plain_code

from npu_target import topi
from npu_target.codegen_interleave import interleave
from npu_target.codegen_tir import build_program
from npu_target.config import NpuConfig
from npu_target.program import Filler, Loop, Program, Weave, nodes_of
from npu_target.schedule_rules import default_schedule
from npu_target.tuning.choose import cycles_of

CONFIG_16 = NpuConfig.preset("gemmini-16x16")


def interleaved(program: Program) -> Program:
    return replace(program, body=interleave(program.body, program.config))


@settings(max_examples=15)
@given(OPERATORS, st.integers(0, 99), st.integers(1, 99))
def test_every_row_sees_the_same(operator: topi.Operator, template: int, seed: int) -> None:
    check_rows(operator, template, seed, interleaved)


@pytest.mark.slow
@settings(max_examples=500)
@given(OPERATORS, st.integers(0, 99), st.integers(1, 99))
def test_every_row_of_many_programs(operator: topi.Operator, template: int, seed: int) -> None:
    check_rows(operator, template, seed, interleaved)


def default_program(operator: topi.Operator) -> Program:
    schedule = default_schedule(operator.canonical(), CONFIG_16)
    with plain_code():
        return build_program(schedule.mod["main"], CONFIG_16, operator.name)


def test_copies_that_take_longer_than_the_steps_take_turns() -> None:
    program = default_program(topi.Matmul(1, 3136, 24, 144))
    assert cycles_of(interleaved(program)) < 0.95 * cycles_of(program)


def test_few_copies_stay() -> None:
    program = default_program(topi.Conv2d(1, 28, 28, 64, 64, 3, 3, (1, 1), (1, 1, 1, 1)))
    assert interleaved(program) == program


def test_copies_that_run_stay() -> None:
    """Rows that a loop around the weave moves are not known."""
    program = default_program(topi.Matmul(1, 3136, 64, 64))
    (weave, *_) = (node for node in nodes_of(program.body) if isinstance(node, Weave))
    (loop, *_) = (node for node in nodes_of(weave.filling) if isinstance(node, Loop))
    outer = Loop(10**6, loop.extent, (Weave(weave.body, (Filler(loop.body, 1, 1),)),))
    assert interleave((outer,), CONFIG_16) == (outer,)
