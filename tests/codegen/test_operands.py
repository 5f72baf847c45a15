"""Operands of forms have the forms' values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate, operand_value

from npu_target.codegen.operands import to_expr, to_operand
from npu_target.passes.linear import Linear, combine

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
