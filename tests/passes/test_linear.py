"""Linear forms against the expressions they come from, evaluated in Python."""

from __future__ import annotations

import itertools

import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import evaluate
from tvm import tirx

from npu_target.codegen.operands import to_expr
from npu_target.passes.errors import CodegenError
from npu_target.passes.linear import (
    Atom,
    Linear,
    all_linear,
    combine,
    comparisons,
    linear,
    undivided,
)

N_LOOPS = 3
EXTENT = 6
OPERATIONS = {
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
}

variables = [tirx.Var(f"i{n}", "int32") for n in range(N_LOOPS)]
environment = {variable: Linear.loop(n) for n, variable in enumerate(variables)}
points = st.lists(st.integers(0, EXTENT), min_size=N_LOOPS, max_size=N_LOOPS)


def value_of(form: Linear, point: list[int]) -> int:
    """A form's meaning, from its definition."""
    total = form.const
    for key, factor in form.items:
        if isinstance(key, Atom):
            atom = OPERATIONS[key.op](value_of(key.a, point), value_of(key.b, point))
        else:
            atom = point[key]
        total += factor * atom
    return total


leaves = st.one_of(
    st.integers(-20, 20).map(lambda value: (tirx.IntImm("int32", value), lambda p: value)),
    st.sampled_from(range(N_LOOPS)).map(lambda n: (variables[n], lambda p: p[n])),
)


@st.composite
def scaled(draw, parts):
    """A product by a constant, from either side."""
    (node, meaning), factor = draw(parts), draw(st.integers(-7, 7))
    constant = tirx.IntImm("int32", factor)
    product = tirx.Mul(node, constant) if draw(st.booleans()) else tirx.Mul(constant, node)
    return product, lambda p: meaning(p) * factor


@st.composite
def combined(draw, parts):
    (a, mean_a), (b, mean_b) = draw(parts), draw(parts)
    node, operation = draw(
        st.sampled_from(
            [
                (tirx.Add, lambda x, y: x + y),
                (tirx.Sub, lambda x, y: x - y),
                (tirx.Min, min),
                (tirx.Max, max),
            ]
        )
    )
    return node(a, b), lambda p: operation(mean_a(p), mean_b(p))


@st.composite
def divided(draw, parts):
    (a, meaning), divisor = draw(parts), draw(st.integers(1, 9))
    node, name = draw(st.sampled_from([(tirx.FloorDiv, "floordiv"), (tirx.FloorMod, "floormod")]))
    operation = OPERATIONS[name]
    return node(a, tirx.IntImm("int32", divisor)), lambda p: operation(meaning(p), divisor)


expressions = st.recursive(
    leaves, lambda parts: st.one_of(scaled(parts), combined(parts), divided(parts)), max_leaves=8
)


def test_the_forms_of_an_arrays_expressions_are_theirs():
    i, j, _ = variables
    buffer = tirx.decl_buffer((EXTENT, EXTENT), "int8")
    store = tirx.BufferStore(buffer, tirx.IntImm("int8", 0), [i * 2 + j, j])
    forms = all_linear(store.indices, environment)
    assert forms == [linear(index, environment) for index in store.indices]
    with pytest.raises(CodegenError, match="is no loop around it"):
        all_linear(store.indices, {i: Linear.loop(0)})


@given(expressions, points)
def test_forms_mean_what_their_expression_does(expression, point):
    node, meaning = expression
    form = linear(node, environment)
    assert value_of(form, point) == meaning(point)
    assert evaluate(to_expr(form), dict(enumerate(point))) == meaning(point)


@given(expressions, expressions, points)
def test_sums_differences_and_multiples(first, second, point):
    a, b = (linear(node, environment) for node, _ in (first, second))
    x, y = (meaning(point) for _, meaning in (first, second))
    assert value_of(a + b, point) == x + y
    assert value_of(a - b, point) == x - y
    assert value_of(a * -3 + 4, point) == -3 * x + 4
    assert a - a == Linear()
    for op, operation in OPERATIONS.items():
        if op in ("min", "max"):
            assert value_of(combine(op, a, b), point) == operation(x, y)
        else:
            assert value_of(combine(op, a, Linear(7)), point) == operation(x, 7)


@given(expressions, expressions, points)
def test_substitution(expression, replacement, point):
    form = linear(expression[0], environment)
    other = linear(replacement[0], environment)
    changed = [value_of(other, point), *point[1:]]
    assert value_of(form.substitute({0: other}), point) == value_of(form, changed)
    assert value_of(form.replaced(0, other), point) == value_of(form, changed)
    both = form.substitute({0: other, 1: other})
    assert value_of(both, point) == value_of(form, [changed[0], changed[0], point[2]])
    further = [point[0] + value_of(other, point), *point[1:]]
    assert value_of(form.advanced(0, other), point) == value_of(form, further)


numbers = st.integers(-3, 3)
sums = st.builds(Linear.of, numbers, st.dictionaries(st.sampled_from([1, 2, 9, 10, 11]), numbers))


@given(sums, sums, st.sampled_from([1, 9, 10]))
def test_equal_forms_are_one(form, other, loop_id):
    """Terms have one order, by which programs are the same however their forms came about."""
    value = form.coefficient(loop_id)
    rest = form.without(loop_id)
    for made, wanted in (
        (form + other, {key: form.coefficient(key) + other.coefficient(key) for key in range(12)}),
        (form - other, {key: form.coefficient(key) - other.coefficient(key) for key in range(12)}),
        (
            form.replaced(loop_id, other),
            {key: rest.coefficient(key) + value * other.coefficient(key) for key in range(12)},
        ),
        (
            form.advanced(loop_id, other),
            {key: form.coefficient(key) + value * other.coefficient(key) for key in range(12)},
        ),
    ):
        assert made == Linear.of(made.const, wanted)


@given(expressions)
def test_what_a_form_depends_on(expression):
    form = linear(expression[0], environment)
    assert form.variables() == {n for n in range(N_LOOPS) if form.depends_on(n)}
    for n in range(N_LOOPS):
        if form.depends_on(n):
            continue
        for point in itertools.product((0, 3), repeat=N_LOOPS):
            moved = list(point)
            moved[n] += 1
            assert value_of(form, moved) == value_of(form, list(point))


compared = st.tuples(
    expressions,
    expressions,
    st.sampled_from(
        [
            (tirx.LT, lambda x, y: x < y),
            (tirx.LE, lambda x, y: x <= y),
            (tirx.GT, lambda x, y: x > y),
            (tirx.GE, lambda x, y: x >= y),
            (tirx.EQ, lambda x, y: x == y),
        ]
    ),
)


@given(st.lists(compared, min_size=1, max_size=3), points)
def test_conditions_hold_where_all_their_forms_are_not_negative(parts, point):
    condition, holds = None, True
    for (a, mean_a), (b, mean_b), (compare, meaning) in parts:
        node = compare(a, b)
        condition = node if condition is None else tirx.And(condition, node)
        holds = holds and meaning(mean_a(point), mean_b(point))
    forms = [undivided(form) for form in comparisons(condition, environment)]
    assert all(value_of(form, point) >= 0 for form in forms) == holds


@pytest.mark.parametrize("divisor", [2, 3, 16])
@pytest.mark.parametrize("bound", [0, 1, 5])
def test_a_division_by_a_constant_leaves_no_atom_in_a_condition(divisor, bound):
    quotient = tirx.FloorDiv(variables[0] + variables[1] * 5, tirx.IntImm("int32", divisor))
    for node in (quotient < bound, quotient >= bound):
        (form,) = (undivided(form) for form in comparisons(node, environment))
        assert not any(isinstance(key, Atom) for key, _ in form.items)


def test_divisible_parts_leave_a_division():
    i, j = Linear.loop(0), Linear.loop(1)
    assert combine("floordiv", i * 16 + j * 8 + 19, Linear(8)) == i * 2 + j + 2
    assert combine("floormod", i * 16 + j * 8 + 19, Linear(8)) == Linear(3)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (variables[0] * variables[1], "multiplies two variables"),
        (tvm.tirx.call_intrin("int32", "tirx.popcount", variables[0]), "popcount.* not supported"),
    ],
)
def test_what_is_not_linear_is_refused(node, text):
    with pytest.raises(CodegenError, match=text):
        linear(node, environment)


def test_conditions_are_conjunctions_of_comparisons():
    i = variables[0]
    with pytest.raises(CodegenError, match=r"condition .* \(Or\) is not supported"):
        comparisons(tirx.Or(i < 1, i > 2), environment)


def test_an_unknown_variable_is_refused():
    with pytest.raises(CodegenError, match="n is no loop around it"):
        linear(tirx.Var("n", "int32") + 1, environment)
