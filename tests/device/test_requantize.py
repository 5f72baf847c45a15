"""Rules of requantization: NumPy, TensorIR and Relax say the same, and know their own."""

from __future__ import annotations

from math import frexp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relax_functions import function_of
from tvm import relax, tirx

from npu_target.conformance.rule_forms import (
    CHANNELS,
    SIZE,
    by_relax,
    by_tensorir,
    matched,
    network,
    reading,
    sums,
)
from npu_target.device.requantize import RequantizeRule, Rescaling
from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule

RULES = [ScaleRule(), ShiftRule(), ShiftRule(rounds=False), ShiftRule(most_bits=8)]
rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule}")


def scales(rule: RequantizeRule) -> st.SearchStrategy[float]:
    most = rule.most_bits if isinstance(rule, ShiftRule) else 20
    powers = st.integers(-most, most).map(lambda bits: 2.0**-bits)
    return powers if rule.powers_of_two else powers | st.floats(2.0**-20, 4.0, width=32)


def by_definition(values: np.ndarray, rule: RequantizeRule, scale: float, relu: bool) -> np.ndarray:
    """Another way to the same: exact, in float64 and Python's integers."""
    if isinstance(rule, ScaleRule):
        exact = values.astype(np.float32).astype(np.float64) * np.float64(np.float32(scale))
        scaled = np.rint(exact.astype(np.float32))
    else:
        assert isinstance(rule, ShiftRule)
        bits = 1 - frexp(scale)[1]
        numerators = [int(value) for value in values]
        if bits <= 0:
            scaled = np.array([(v * 2**-bits + 2**31) % 2**32 - 2**31 for v in numerators])
        else:
            half = 2 ** (bits - 1) if rule.rounds else 0
            scaled = np.array([(v + half) // 2**bits for v in numerators])
    return np.clip(scaled, 0 if relu else -128, 127).astype(np.int8)


@rules
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_numpy_computes_the_definition(rule, data):
    scale, relu = data.draw(scales(rule)), data.draw(st.booleans())
    values = sums(data.draw(st.integers(0, 2**32)))
    np.testing.assert_array_equal(
        rule.evaluate(values, scale, relu), by_definition(values, rule, scale, relu)
    )


def test_halves_are_rounded_as_the_rules_say():
    halves = np.array([-5, -3, -1, 1, 3, 5], np.int32)
    assert ScaleRule().evaluate(halves, 0.5).tolist() == [-2, -2, 0, 0, 2, 2]
    assert ShiftRule().evaluate(halves, 0.5).tolist() == [-2, -1, 0, 1, 2, 3]
    assert ShiftRule(rounds=False).evaluate(halves, 0.5).tolist() == [-3, -2, -1, 0, 1, 2]


def test_sums_of_a_shift_wrap_as_they_round():
    assert ShiftRule().evaluate(np.array([2**31 - 1], np.int32), 2.0**-23).tolist() == [-128]


def test_a_shift_leaves_something_to_saturate():
    with pytest.raises(ValueError, match="most_bits is 24, must be 1 to 23"):
        ShiftRule(most_bits=24)


@rules
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_tensorir_computes_what_numpy_does(rule, data):
    scale, relu = data.draw(scales(rule)), data.draw(st.booleans())
    values = sums(data.draw(st.integers(0, 2**32)))
    found = by_tensorir(rule, scale, relu, values)
    np.testing.assert_array_equal(found, rule.evaluate(values, scale, relu))


@rules
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_an_expression_is_recognised_as_it_is_and_simplified(rule, data):
    scale, relu = data.draw(scales(rule)), data.draw(st.booleans())
    for found in matched(rule, scale, relu):
        assert found is not None
        assert (found.scale, found.relu) == (float(np.float32(scale)), relu)
        assert str(found.value).startswith("x[")


def test_a_rule_does_not_know_the_expressions_of_others():
    x = tirx.Var("x", "int32")
    distinct = [ScaleRule(), ShiftRule(), ShiftRule(rounds=False)]
    for mine in distinct:
        for other in distinct:
            # Shifting without rounding is a part of shifting with it.
            if mine == other or mine == ShiftRule(rounds=False):
                continue
            assert mine.match(other.expression(x, 0.25)) is None


@rules
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_relax_computes_what_numpy_does_and_is_recognised(rule, data):
    scale = data.draw(scales(rule))
    mod = network(rule, scale)
    values = sums(data.draw(st.integers(0, 2**32))).reshape(-1, CHANNELS)
    np.testing.assert_array_equal(by_relax(mod, values), rule.evaluate(values, scale))
    assert reading(rule, mod) == Rescaling(float(np.float32(scale)), False)


def shifted(emit, x, half, bits, low=-128, high=127):
    op = relax.op
    value = emit(op.right_shift(emit(op.add(x, relax.const(half))), relax.const(bits)))
    return emit(op.astype(emit(op.clip(value, low, high)), "int8"))


@pytest.mark.parametrize(
    ("half", "bits", "bounds", "wanted"),
    [
        (np.int32(4), np.int32(3), (-128, 127), Rescaling(0.125, False)),
        (np.int32(4), np.int32(3), (0, 127), Rescaling(0.125, True)),
        (np.int32(4), np.int32(3), (-127, 127), "clipped to -127..127, the device saturates"),
        (np.int32(3), np.int32(3), (-128, 127), "does not round as the device"),
        (np.int32(4), np.full(SIZE, 3, np.int32), (-128, 127), "512 shifts (per channel?)"),
    ],
)
def test_what_a_shift_reads(half, bits, bounds, wanted):
    def body(emit, x):
        return shifted(emit, x, half, bits, *bounds)

    found = reading(ShiftRule(), function_of([(SIZE,)], body, "int32"))
    assert found == wanted if isinstance(wanted, Rescaling) else wanted in found


@pytest.mark.parametrize(
    ("rule", "scale"),
    [
        (ScaleRule(), float("inf")),
        (ScaleRule(), 1e39),
        (ShiftRule(), 0.3),
        (ShiftRule(), 0.0),
        (ShiftRule(), -0.5),
        (ShiftRule(), 2.0**-24),
        (ShiftRule(most_bits=8), 2.0**-9),
    ],
)
def test_a_scale_that_a_rule_does_not_have(rule, scale):
    reason = rule.refusal(scale)
    assert str(scale) in reason
    with pytest.raises(ValueError, match="the scale"):
        rule.expression(tirx.Var("x", "int32"), scale)
