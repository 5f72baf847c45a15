"""A loop's variable replaced by a multiple of it and a number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate, operand_value
from program_strategies import expressions, operands

from npu_target.program import Address, Expr, Operand, var
from npu_target.rewrite.substitute import Replacement

SMALL = st.integers(-9, 9)


@given(expressions((1, 2)), SMALL, SMALL, SMALL, SMALL)
def test_expressions(expr: Expr, factor: int, offset: int, one: int, two: int) -> None:
    replaced = Replacement(1, factor, offset).expression(expr)
    expected = evaluate(expr, {1: factor * one + offset, 2: two})
    assert evaluate(replaced, {1: one, 2: two}) == expected


@given(operands((1, 2), 1), SMALL, SMALL, SMALL, SMALL)
def test_operands(operand: Operand, factor: int, offset: int, one: int, two: int) -> None:
    replaced = Replacement(1, factor, offset).operand(operand)
    expected = operand_value(operand, {1: factor * one + offset, 2: two}, [4096])
    assert operand_value(replaced, {1: one, 2: two}, [4096]) == expected
    assert 0 <= replaced.base < 2**64


def test_what_does_not_run_along_the_loop_is_the_same_object() -> None:
    operand, expr = Operand(5, Address(0), ((2, 16),), ((3, var(2) // 4),)), var(2) % 3
    replacement = Replacement(1, 2, 3)
    assert replacement.operand(operand) is operand
    assert replacement.expression(expr) is expr
