"""Operands: sums keep their value, and what is linear runs in steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate, operand_value
from program_strategies import INT64S, expressions, operands

from npu_target.program import Expr, Operand, ProgramError, minimum, var

LOOPS = (0, 7)
ADDRESSES = [0x80010000, 0x80020000]


@given(st.lists(INT64S | expressions(LOOPS), max_size=5), INT64S, INT64S)
def test_sums_keep_their_value(terms: list[int | Expr], a: int, b: int) -> None:
    values = {0: a, 7: b}
    expected = sum(evaluate(term, values) if isinstance(term, Expr) else term for term in terms)
    assert operand_value(Operand.of(*terms), values, ADDRESSES) == expected % 2**64


@given(operands(LOOPS, 0), operands(LOOPS, 2), INT64S, INT64S, INT64S)
def test_sums_and_multiples_of_operands(
    x: Operand, y: Operand, factor: int, a: int, b: int
) -> None:
    values = {0: a, 7: b}
    total = operand_value(x + y, values, ADDRESSES)
    parts = operand_value(x, values, ADDRESSES) + operand_value(y, values, ADDRESSES)
    assert total == parts % 2**64
    multiple = operand_value(x * factor, values, ADDRESSES)
    assert multiple == operand_value(x, values, ADDRESSES) * factor % 2**64


@given(operands(LOOPS, 2), INT64S, INT64S, INT64S, INT64S)
def test_running_along_one_more_loop(x: Operand, by: int, a: int, b: int, c: int) -> None:
    values = {0: a, 7: b, 3: c}
    running = x.running(3, by)
    assert ((3, by) in running.steps) == bool(by)
    expected = operand_value(x, values, ADDRESSES) + by * c
    assert operand_value(running, values, ADDRESSES) == expected % 2**64


def test_operands_that_run_alike_differ_by_a_constant() -> None:
    operand = Operand.argument(1, 64 * var(0), minimum(16, var(7)))
    assert operand.runs_like(operand + 5)
    for other in (Operand.argument(0, 64 * var(0), minimum(16, var(7))), operand + var(0)):
        assert not operand.runs_like(other)
    assert not operand.runs_like(operand + minimum(16, var(7)))


def test_linear_parts_become_steps() -> None:
    i, j = var(0), var(1)
    clip = minimum(16, 100 - 16 * j)
    operand = Operand.argument(0, 64 * (i + 2 * j) - (j - 5), clip * 3, 4 * clip, 10)
    assert operand == Operand(15, 0, ((0, 64), (1, 127)), ((7, clip),))
    assert Operand.of(i, -1 * i, clip - clip) == Operand()
    assert Operand.of(-1).base == 2**64 - 1


def test_addresses_do_not_add_or_multiply() -> None:
    with pytest.raises(ProgramError, match="one argument's address, not two"):
        Operand.argument(0) + Operand.argument(1)
    with pytest.raises(ProgramError, match="address cannot be multiplied by 2"):
        Operand.argument(0) * 2
    assert Operand.argument(0) * 1 == Operand.argument(0)
