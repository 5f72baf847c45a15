"""Minima and maxima in C: right for every sign, and as many instructions as are charged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from riscv_machine import Machine, run_kernel

from npu_target.device import preset
from npu_target.device_api import host_cost
from npu_target.program import Command, Expr, Loop, Operand, Program, const, maximum, minimum, var

pytestmark = pytest.mark.riscv

ITERATIONS = 50
EXTREMES = {"minimum": minimum, "maximum": maximum}


def program_of(values: list[Expr]) -> Program:
    body = tuple(Command(1, Operand.of(value), Operand.of(0)) for value in values)
    loop = Loop(0, const(ITERATIONS), body)
    return Program("extremes", preset("gemmini-16x16"), (), (loop,))


def run(program: Program) -> Machine:
    with tempfile.TemporaryDirectory() as folder:
        return run_kernel(program, {}, Path(folder))


@pytest.mark.parametrize("extreme", EXTREMES)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-2100, 2100)), min_size=1, max_size=3))
@example([(-1, 0), (1, -1), (1, 0)])
@settings(max_examples=10, deadline=None)
def test_of_two_signed_numbers(extreme: str, terms: list[tuple[int, int]]) -> None:
    found = run(program_of([EXTREMES[extreme](var(0) * step - 25, at) for step, at in terms]))
    expected: Callable[..., int] = min if extreme == "minimum" else max
    assert found.commands == [
        (1, expected(i * step - 25, at) % 2**64, 0) for i in range(ITERATIONS) for step, at in terms
    ]


@pytest.mark.parametrize(
    ("value", "moves"),
    [
        (minimum(var(0) - 25, 39), 0),
        (maximum(var(0) - 25, 0), 0),
        (maximum(var(0) - 25, -3), 0),
        (minimum(var(0) * 3, var(0) + 25), 1),  # 3 * i goes on as it is
    ],
)
def test_instructions_are_those_the_simulator_charges(value: Expr, moves: int) -> None:
    program = program_of([value])
    charged = host_cost(program.to_bytes()).instructions
    found = run(program).instructions
    # The move, one of the two that are charged, is left out where the first one is chosen.
    assert charged - ITERATIONS - 5 <= found <= charged + moves * ITERATIONS
