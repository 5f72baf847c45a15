"""Rules of requantization: NumPy, TensorIR and Relax say the same, and know their own."""

from __future__ import annotations

from math import frexp

import numpy as np
import pytest
import tvm
import tvm_ffi
from hypothesis import given, settings
from hypothesis import strategies as st
from relax_functions import function_of
from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.relax.dpl import wildcard
from tvm.script import tirx as T

from npu_target.device.requantize import RequantizeRule, Rescaling
from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule
from npu_target.host import build_host, run_host
from npu_target.relax_graph import Graph

SIZE = 512
RULES = [ScaleRule(), ShiftRule(), ShiftRule(rounds=False), ShiftRule(most_bits=8)]
rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule}")


def scales(rule: RequantizeRule) -> st.SearchStrategy[float]:
    most = rule.most_bits if isinstance(rule, ShiftRule) else 20
    powers = st.integers(-most, most).map(lambda bits: 2.0**-bits)
    return powers if rule.powers_of_two else powers | st.floats(2.0**-20, 4.0, width=32)


def sums(seed: int) -> np.ndarray:
    """int32 of all sizes, halves of powers of two among them; none so near to the end of int32
    that rounding it would wrap."""
    random = np.random.default_rng(seed)
    spans = 2 ** random.integers(1, 31, SIZE)
    values = random.integers(-spans, spans)
    values[::4] = (1 << random.integers(0, 30, SIZE // 4)) * random.choice([-3, -1, 1], SIZE // 4)
    return np.clip(values, -(2**30), 2**30 - 1).astype(np.int32)


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


def kernel(rule: RequantizeRule, scale: float, relu: bool) -> tirx.PrimFunc:
    requantize = rule.expression

    @T.prim_func(s_tir=True)
    def compute(x: T.Buffer((SIZE,), "int32"), y: T.Buffer((SIZE,), "int8")):
        for i in range(SIZE):
            with T.sblock("y"):
                vi = T.axis.spatial(SIZE, i)
                y[vi] = requantize(x[vi], scale, relu)

    return compute


@rules
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_tensorir_computes_what_numpy_does(rule, data):
    scale, relu = data.draw(scales(rule)), data.draw(st.booleans())
    values = sums(data.draw(st.integers(0, 2**32)))
    result = tvm.runtime.tensor(np.zeros(SIZE, np.int8))
    tvm.compile(kernel(rule, scale, relu), "llvm")(tvm.runtime.tensor(values), result)
    np.testing.assert_array_equal(result.numpy(), rule.evaluate(values, scale, relu))


def stored(func: tirx.PrimFunc) -> tirx.Expr:
    """The value of the only store of a function."""
    found: list[tirx.BufferStore] = []
    tvm_ffi.structural_walk(func.body, (tirx.BufferStore, found.append))
    (store,) = found
    return store.value


@rules
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_an_expression_is_recognised_as_it_is_and_simplified(rule, data):
    scale, relu = data.draw(scales(rule)), data.draw(st.booleans())
    func = kernel(rule, scale, relu)
    simplified = tirx.transform.StmtSimplify()(IRModule({"main": func}))["main"]
    for value in (stored(func), stored(simplified)):
        found = rule.match(value)
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


def graph_of(rule: RequantizeRule, scale: float) -> IRModule:
    class Emit:
        """The part of a block builder that rules use."""

        def __init__(self, emit):
            self.emit = emit

    def body(emit, x):
        return rule.emit(Emit(emit), x, scale, "y")

    return function_of([(SIZE,)], body, "int32")


@rules
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_relax_computes_what_numpy_does_and_is_recognised(rule, data):
    scale = data.draw(scales(rule))
    mod = graph_of(rule, scale)
    values = sums(data.draw(st.integers(0, 2**32)))
    (found,) = run_host(build_host(mod), values)
    np.testing.assert_array_equal(found, rule.evaluate(values, scale))
    assert reading(rule, mod) == Rescaling(float(np.float32(scale)), False)


def reading(rule: RequantizeRule, mod: IRModule) -> Rescaling | str:
    """What a rule reads of a function that ends in a requantization of its argument."""
    graph, parts = Graph(mod), {}
    value = wildcard()
    matched = graph.extract(rule.pattern(value, parts), graph.order[-1])
    assert matched is not None
    assert matched[value].name == "x0"
    return rule.read({name: matched[part] for name, part in parts.items() if part in matched})


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
