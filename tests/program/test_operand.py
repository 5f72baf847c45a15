"""Operands: sums keep their value, and what is linear runs in steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate, operand_value
from program_strategies import INT64S, expressions, operands

from npu_target.program import Address, Expr, Operand, ProgramError, minimum, var

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


def test_linear_parts_become_steps() -> None:
    i, j = var(0), var(1)
    clip = minimum(16, 100 - 16 * j)
    operand = Operand.argument(0, 64 * (i + 2 * j) - (j - 5), clip * 3, 4 * clip, 10)
    assert operand == Operand(15, Address(0), ((0, 64), (1, 127)), ((7, clip),))
    assert Operand.of(i, -1 * i, clip - clip) == Operand()
    assert Operand.of(-1).base == 2**64 - 1


def test_addresses_do_not_add_or_multiply() -> None:
    with pytest.raises(ProgramError, match="one argument's address, not two"):
        Operand.argument(0) + Operand.argument(1)
    for factor in (3, 0, -1, 2**64):
        with pytest.raises(ProgramError, match=f"address cannot be multiplied by {factor}"):
            Operand.argument(0) * factor
    assert Operand.argument(0) * 1 == Operand.argument(0)


@given(st.integers(0, 31), st.integers(0, 63), st.integers(0, 2**33), INT64S, INT64S)
def test_an_address_in_units_as_a_field(
    unit: int, low_bit: int, units: int, offset: int, a: int
) -> None:
    field = Operand.argument(1, offset, var(0), unit=unit) * (1 << low_bit)
    assert field.address == Address(1, unit, low_bit)
    value = operand_value(field, {0: a}, [0, units << unit])
    assert value == ((units + offset + a) << low_bit) % 2**64


def test_an_address_that_is_no_multiple_of_its_units() -> None:
    with pytest.raises(ProgramError, match="argument 1 is at 0x18, needs a multiple of 16 bytes"):
        Address(1, 4).word(0x18)
    assert Address(1, 4, 26).word(0x20) == 2 << 26
