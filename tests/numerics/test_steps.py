"""Steps of requantizations: proofs agree with every sum tried one by one."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule
from npu_target.integer import RULES, Requantize
from npu_target.numerics.steps import device_numbers, steps_of

LEVELS = np.arange(-127, 128)
RULE = ScaleRule()


def operations():
    return st.builds(
        lambda rule, scale, zero_point: Requantize(
            rule, (scale,), 0 if rule == "float32" else zero_point
        ),
        st.sampled_from(RULES),
        st.floats(0.001, 0.9),
        st.integers(-128, 127),
    )


def intervals():
    return st.tuples(st.integers(-40000, 40000), st.integers(0, 30000)).map(
        lambda ends: (ends[0], ends[0] + ends[1])
    )


@settings(deadline=None)
@given(operations(), intervals())
def test_steps_are_where_the_result_changes(operation, interval):
    low, high = interval
    steps = steps_of(operation.evaluate, low, high, LEVELS)
    results = operation.evaluate(np.arange(low, high + 1))
    expected = low + np.searchsorted(results, LEVELS)
    np.testing.assert_array_equal(steps.least, expected)


@settings(deadline=None, max_examples=100)
@given(operations(), intervals())
def test_nothing_moved_means_equal_for_every_sum(operation, interval):
    low, high = interval
    steps = steps_of(operation.evaluate, low, high, LEVELS)
    scale = operation.scale[0]
    found = device_numbers(steps, RULE, scale, operation.zero_point / scale)
    sums = np.arange(low, high + 1)
    device = RULE.evaluate((sums + found.offset).astype("int32"), found.scale)
    equal = np.array_equal(device, operation.evaluate(sums))
    assert equal == (found.moved == 0)
    # Whatever moved, a step of one sum never makes more than one level here: scales are below 1.
    assert np.abs(device.astype(int) - operation.evaluate(sums)).max() <= 1


@settings(deadline=None)
@given(st.floats(1e-5, 0.9), intervals())
def test_the_devices_own_rule_is_found(scale, interval):
    operation = Requantize("float32", (scale,))
    steps = steps_of(operation.evaluate, *interval, LEVELS)
    found = device_numbers(steps, RULE, scale, 0)
    assert (found.scale, found.offset, found.moved) == (np.float32(scale), 0, 0)


def test_a_whole_number_of_sums_for_a_zero_point_is_exact():
    operation = Requantize("float32_zp", (0.25,), -128)
    steps = steps_of(operation.evaluate, -100_000, 100_000, LEVELS)
    found = device_numbers(steps, RULE, 0.25, -128 / 0.25)
    # A quarter rounds ties to even, which a zero point that is even keeps.
    assert (found.offset, found.moved) == (-512, 0)


def test_halves_that_are_rounded_away_from_zero_need_another_scale():
    pixels = 64

    def average(sums):
        return (np.sign(sums) * ((np.abs(sums) + pixels // 2) // pixels)).astype("int8")

    steps = steps_of(average, -128 * pixels, 127 * pixels, LEVELS)
    assert device_numbers(steps, RULE, 1 / pixels, 0, is_offset_free=False).moved == 0
    sums = np.arange(-128 * pixels, 127 * pixels + 1).astype("int32")
    assert (RULE.evaluate(sums, 1 / pixels) != average(sums)).sum() == 128


def test_a_device_that_shifts_has_powers_of_two_only():
    for scale, moved in ((0.25, 0), (0.3, None)):
        operation = Requantize("tflite_single", (scale,))
        steps = steps_of(operation.evaluate, -1000, 1000, LEVELS)
        found = device_numbers(steps, ShiftRule(), scale, 0)
        assert (None if found is None else found.moved) == moved


@settings(deadline=None)
@given(st.floats(0.001, 0.5), st.integers(1, 30))
def test_few_steps_in_reach_are_often_exact(scale, width):
    operation = Requantize("tflite_double", (scale,), 3)
    assume(scale * width < 1)
    steps = steps_of(operation.evaluate, 0, width, LEVELS)
    assert device_numbers(steps, RULE, scale, 3 / scale).moved == 0
