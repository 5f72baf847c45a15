"""The ends of a pipeline: the same commands, in an order that changes nothing but the time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_programs import OPERATORS, check_rows, plain_code, plain_program, stream
from row_histories import row_histories

from npu_target import topi
from npu_target.codegen_ends import overlap_ends
from npu_target.codegen_rotate import rotate
from npu_target.codegen_tir import build_program
from npu_target.config import NpuConfig
from npu_target.program import Command, Operand, Program
from npu_target.program_edit import CONFIG, LOAD, STEP, STORE, NodeKinds
from npu_target.schedule_rules import default_schedule
from npu_target.tuning.choose import cycles_of

CONFIG_16 = NpuConfig.preset("gemmini-16x16")


kinds = NodeKinds()


def overlapped(program: Program) -> Program:
    return replace(program, body=overlap_ends(program.body, program.config))


@settings(max_examples=15)
@given(OPERATORS, st.integers(0, 99), st.integers(1, 99))
def test_every_row_sees_the_same(operator: topi.Operator, template: int, seed: int) -> None:
    check_rows(operator, template, seed, turned_and_overlapped)


@pytest.mark.slow
@settings(max_examples=500)
@given(OPERATORS, st.integers(0, 99), st.integers(1, 99))
def test_every_row_of_many_programs(operator: topi.Operator, template: int, seed: int) -> None:
    check_rows(operator, template, seed, turned_and_overlapped)


def turned_and_overlapped(program: Program) -> Program:
    turned = replace(program, body=rotate(program.body))
    assert stream(turned) == stream(program), "turning loops keeps the order of all commands"
    return overlapped(turned)


CONV = topi.Conv2d(1, 28, 28, 64, 64, 3, 3, (1, 1), (1, 1, 1, 1))
SPLIT = topi.Conv2d(1, 14, 14, 256, 128, 3, 3, (1, 1), (1, 1, 1, 1))


@pytest.mark.parametrize("operator", [CONV, SPLIT, topi.Matmul(1, 128, 128, 128)])
def test_the_array_starts_before_all_is_loaded(operator: topi.Operator) -> None:
    func = default_schedule(operator.canonical(), CONFIG_16).mod["main"]
    program = build_program(func, CONFIG_16, operator.name)
    with plain_code():
        plain = build_program(func, CONFIG_16, operator.name)
    assert cycles_of(program) < 0.99 * cycles_of(plain)
    assert at_the_end(program, LOAD) < at_the_end(plain, LOAD) / 2
    assert at_the_end(program, STORE) < at_the_end(plain, STORE)


def at_the_end(program: Program, kind: str) -> int:
    """Loads before the first step, or stores behind the last one."""
    found = [kinds(Command(words[0], Operand(), Operand())) for words in stream(program)]
    found = found if kind == LOAD else found[::-1]
    return found[: found.index({STEP})].count({kind})


def test_settings_stay_before_what_obeys_them() -> None:
    """Two strides of the same id: nothing may pass the second one."""
    program = plain_program(CONV, CONFIG_16, 0, 1)
    found = [kinds(node) for node in program.body]
    assert {CONFIG} in found
    again = next(node for node in program.body if kinds(node) == {CONFIG})
    index = next(i for i, held in enumerate(found) if LOAD in held)
    body = (*program.body[: index + 1], again, *program.body[index + 1 :])
    twice = replace(program, body=body)
    before, after = stream(twice), stream(overlapped(twice))
    assert row_histories(after, CONFIG_16) == row_histories(before, CONFIG_16)
