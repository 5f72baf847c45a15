"""Additions: none differs in exact mode, by one at most in fast mode, whatever the scales."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax

from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule
from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.integer import emit
from npu_target.integer.add import Add
from npu_target.integer.linear_add import LinearAdd
from npu_target.numerics import EXACT, FAST, NumericsOptions, decide
from npu_target.numerics.additions import add_numbers
from npu_target.numerics.ranges import Range
from npu_target.partition import partition

CONFIG = GemminiConfig()
RULE = ScaleRule()
INT8 = Range(-128, 127)
POSITIVE = Range(0, 127)
INT8_VALUES = st.integers(-128, 127)
# Of operands that count for something beside each other, into a result that holds much of them.
SCALES = st.floats(0.02, 0.5)


def operations():
    linear = st.builds(
        lambda a, b, out, points, subtracts: LinearAdd((a, -b if subtracts else b, out), points),
        SCALES,
        SCALES,
        SCALES,
        st.tuples(INT8_VALUES, INT8_VALUES, INT8_VALUES),
        st.booleans(),
    )
    tflite = st.builds(
        lambda a, b, out, points, zero_point, subtracts: Add(
            (a, b), points, out, zero_point, subtract=subtracts
        ),
        SCALES,
        SCALES,
        SCALES,
        st.tuples(INT8_VALUES, INT8_VALUES),
        INT8_VALUES,
        st.booleans(),
    )
    return linear | tflite


def network(operation):
    """On all pairs of int8 values."""
    builder = relax.BlockBuilder()
    params = [relax.Var(name, relax.TensorType((256, 256), "int8")) for name in ("x", "y")]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(emit(builder, operation, params, "sum"))
        builder.emit_func_output(out)
    return builder.get()


def all_pairs():
    values = np.arange(-128, 128).astype("int8")
    return [np.ascontiguousarray(side) for side in np.meshgrid(values, values, indexing="ij")]


@pytest.mark.long
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(operations())
def test_none_differs_in_exact_mode_and_by_one_at_most_in_fast_mode(operation):
    mod, pairs = network(operation), all_pairs()
    exact = operation.evaluate(*pairs).astype(int)
    for mode, most in ((EXACT, 0), (FAST, 1)):
        decided = decide(mod, CONFIG, NumericsOptions(mode))
        (found,) = run_host(build_host(decided.mod), *pairs)
        apart = np.abs(found - exact)
        assert apart.max() <= most
        (layer,) = decided.layers
        assert layer.is_exact == (apart.max() == 0)
        if layer.is_on_device:
            (region,) = partition(decided.mod, CONFIG).regions
            assert region.op == "add"


@settings(max_examples=60, deadline=None)
@given(operations(), st.sampled_from([INT8, POSITIVE]), st.sampled_from([INT8, POSITIVE]))
def test_what_is_said_of_all_pairs_is_so(operation, left, right):
    found = add_numbers(operation, left, right, RULE)
    if found is None:  # all results are one value
        return
    x, y = np.meshgrid(np.arange(left.low, left.high + 1), np.arange(right.low, right.high + 1))
    a, b = found.multipliers
    sums = (a * x + b * y + found.constant).astype("int32")
    exact = operation.evaluate(x.astype("int8"), y.astype("int8")).astype(int)
    apart = np.abs(RULE.evaluate(sums, found.scale) - exact)
    assert ((apart > 0).sum(), apart.max(), apart.size) == (found.differ, found.most, found.pairs)


@pytest.mark.parametrize(
    "operation",
    [
        LinearAdd((0.05, 0.05, 0.07)),
        LinearAdd((0.05, 0.05, 0.07), (3, -7, 11)),  # the constant is finer than a step
        LinearAdd((0.5, 0.3, 0.02), (1, 2, 3)),  # most pairs saturate
        LinearAdd((0.05, 0.0001, 0.05)),  # the second operand is less than half a step
    ],
)
def test_additions_that_the_device_computes_exactly(operation):
    assert add_numbers(operation, INT8, INT8, RULE).differ == 0


def test_typical_additions_are_near():
    """Ratios that no multipliers have exactly; the share of pairs stands in docs/numerics.md."""
    random = np.random.default_rng(0)
    shares = []
    for _ in range(20):
        a, b = random.uniform(0.02, 0.1, 2).tolist()
        out = (a * a + b * b) ** 0.5 * random.uniform(1, 1.5)
        points = tuple(random.integers(-128, 128, 3).tolist())
        found = add_numbers(LinearAdd((a, b, float(out)), points), INT8, INT8, RULE)
        assert found.most <= 1
        shares.append(found.differ / found.pairs)
    assert np.median(shares) < 0.01


def test_a_device_that_shifts():
    found = add_numbers(LinearAdd((0.05, 0.03, 0.07)), INT8, INT8, ShiftRule())
    assert found.most == 1 and found.scale == 2.0 ** round(np.log2(found.scale))


def test_what_is_no_addition_stays():
    def layers(operation, shapes, constant=False):
        builder = relax.BlockBuilder()
        params = [relax.Var(f"x{i}", relax.TensorType(s, "int8")) for i, s in enumerate(shapes)]
        operands = [params[0], relax.const(np.ones(shapes[1], "int8"))] if constant else params
        with builder.function("main", params):
            with builder.dataflow():
                out = builder.emit_output(emit(builder, operation, operands, "sum"))
            builder.emit_func_output(out)
        return decide(builder.get(), CONFIG, NumericsOptions(FAST)).layers

    add = Add((0.1, 0.1), (0, 0), 0.1, 0)
    assert layers(add, [(4, 4), (4, 4)], constant=True)[0].why == "one operand is constant"
    assert layers(add, [(4, 4), (4,)])[0].why == "shapes (4, 4) and (4,) differ"
    far = Add((10.0, 0.004), (0, 0), 0.01, 0)
    assert "no sum with one scale is within 1" in layers(far, [(4, 4), (4, 4)])[0].why
