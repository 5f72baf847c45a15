"""Operands of forms have the forms' values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate, operand_value

from npu_target.codegen.operands import to_command, to_expr, to_operand
from npu_target.device.commands import IsaError
from npu_target.devices.gemmini.isa import LocalAddress, Mvin
from npu_target.passes.linear import Linear, combine
from npu_target.program import Operand, command_form, device_command

N_LOOPS = 3
points = st.lists(st.integers(0, 9), min_size=N_LOOPS, max_size=N_LOOPS)
operations = st.sampled_from(["floordiv", "floormod", "min", "max"])

sums = st.builds(
    Linear.of,
    st.integers(-20, 20),
    st.dictionaries(st.integers(0, N_LOOPS - 1), st.integers(-9, 9)),
)
atoms = st.builds(
    lambda operation, a, b, divisor: combine(
        operation, a, Linear(divisor) if operation.startswith("floor") else b
    ),
    operations,
    sums,
    sums,
    st.integers(1, 9),
)
forms = st.builds(
    lambda a, b, factor, c: a + b * factor + c, sums, atoms, st.integers(-5, 5), atoms
)


@given(forms, points)
def test_an_operand_and_an_expression_have_the_value_of_their_form(form, point):
    value = form.substitute(dict(enumerate(map(Linear, point))))
    assert value.is_const
    variables = dict(enumerate(point))
    assert evaluate(to_expr(form), variables) == value.const
    assert operand_value(to_operand(form), variables, []) == value.const % 2**64


@given(sums)
def test_what_is_linear_in_the_loops_only_runs(form):
    assert not to_operand(form).general


@given(st.integers(21, 99), forms, sums)
def test_a_command_of_forms_is_that_of_their_operands(first, more, bytes_from):
    row = Linear(first + 500) + more  # so that it is none below 0
    rest = {"cols": 16, "rows": 4}
    start, flags = Operand.argument(1), LocalAddress(0, accumulator=True)
    form = command_form(Mvin, ("local", "dram_address"), local=flags, dram_address=start, **rest)
    expected = device_command(
        Mvin,
        local=(flags, to_operand(row)),
        dram_address=Operand.argument(1, to_operand(bytes_from)),
        **rest,
    )
    assert to_command(form, row, bytes_from) == expected
    assert form.command(to_operand(row), to_operand(bytes_from)) == expected


def test_forms_may_be_of_fields_of_one_word():
    row, columns = Linear(8, ((1, 16),)), Linear(1, ((0, 2),))
    form = command_form(Mvin, ("local", "cols"), local=LocalAddress(5), dram_address=0, rows=1)
    expected = device_command(
        Mvin,
        local=(LocalAddress(5), to_operand(row)),
        dram_address=0,
        cols=to_operand(columns),
        rows=1,
    )
    assert to_command(form, row, columns) == expected


def test_constant_forms_are_checked():
    form = command_form(Mvin, ("local",), dram_address=0, cols=16, rows=1)
    assert (
        to_command(form, Linear(7)).rs2
        == device_command(Mvin, local=LocalAddress(7), dram_address=0, cols=16, rows=1).rs2
    )
    with pytest.raises(IsaError, match="local"):
        to_command(form, Linear(-1))
