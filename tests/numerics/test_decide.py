"""Which layers a device computes, and that exact is exact."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numerics.networks import Builder, inputs_of
from tvm.relax import op

from npu_target.device import kind_of, preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.integer import RULES, operation_of
from npu_target.numerics import (
    EXACT,
    FAST,
    NumericsError,
    NumericsOptions,
    check_all_on_device,
    decide,
)
from npu_target.partition import partition
from npu_target.relax_graph import Graph

CONFIG = GemminiConfig()
SLOW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def mixed():
    def body(b):
        b.conv("own", 8)
        b.requantize("own", "float32", 0.002, low=0)
        b.pad(-5)
        b.conv("zero_point", 8, zero_point=-5)
        b.requantize("zero_point", "tflite_double", 0.0011, -128)
        b.conv("channels", 8, depthwise=True)
        b.requantize("channels", "tflite_double", np.linspace(0.001, 0.004, 8), -128)
        b.conv("bounds", 8)
        b.requantize("bounds", "float32_zp", 0.002, 5, low=5, high=100)

    return Builder((1, 16, 16, 3)).make(body)


def results(mod, sample):
    return run_host(build_host(mod), *sample)[0]


def by_name(decided):
    return {layer.name: layer for layer in decided.layers}


def test_exact_is_equal_and_keeps_on_the_host_what_is_not():
    mod = mixed()
    decided = decide(mod, CONFIG)
    layers = by_name(decided)
    assert [name for name, layer in layers.items() if layer.is_on_device] == ["own"]
    assert all(layer.is_exact for layer in layers.values())
    assert "58 of its 255 steps would be at another sum" in layers["zero_point"].why
    assert "8 scales, one a channel" in layers["channels"].why
    (sample,) = inputs_of(mod, 1)
    np.testing.assert_array_equal(results(mod, sample), results(decided.mod, sample))
    # The sums of the others are the device's as well.
    regions = partition(decided.mod, CONFIG).regions
    assert {region.name: "sums" in region.attrs for region in regions} == {
        "own_conv": False,
        "zero_point_conv": True,
        "channels_conv": True,
        "bounds_conv": True,
    }


def test_fast_is_all_on_the_device_and_near():
    mod = mixed()
    decided = decide(mod, CONFIG, NumericsOptions(FAST))
    layers = by_name(decided)
    assert all(layer.is_on_device for layer in layers.values())
    assert [name for name, layer in layers.items() if layer.is_exact] == ["own"]
    assert layers["channels"].form == "scales in the weights"
    names = [region.name for region in partition(decided.mod, CONFIG).regions]
    assert names == ["own_conv", "zero_point_conv", "channels_conv", "bounds_conv"]
    (sample,) = inputs_of(mod, 1)
    exact, fast = results(mod, sample).astype(int), results(decided.mod, sample)
    assert np.abs(exact - fast).max() == 1
    assert 0 < (exact != fast).mean() < 0.1
    # What is left of the named operations went with them.
    assert [var.name_hint for var in decided.mod.get_global_vars()] == ["main"]


@SLOW
@given(
    st.sampled_from(RULES),
    st.floats(0.0005, 0.02),
    st.integers(-128, 127),
    st.integers(-128, 0),
    st.integers(1, 127),
    st.integers(0, 1000),
)
def test_one_scale_is_off_by_one_at_most(rule, scale, zero_point, low, high, seed):
    def body(b):
        b.conv("layer", 5, kernel=2, padding=[1, 0, 0, 1])
        zero = 0 if rule == "float32" else zero_point
        b.requantize("layer", rule, scale, zero, low=low, high=high)

    mod = Builder((1, 9, 9, 4), seed).make(body)
    (sample,) = inputs_of(mod, 1)
    exact = results(mod, sample).astype(int)
    for mode, most in ((EXACT, 0), (FAST, 1)):
        decided = decide(mod, CONFIG, NumericsOptions(mode))
        assert np.abs(results(decided.mod, sample) - exact).max() <= most
        (layer,) = decided.layers
        if mode == FAST or rule == "float32":
            assert layer.is_on_device
            assert len(partition(decided.mod, CONFIG).regions) == 1
        if layer.is_exact:
            np.testing.assert_array_equal(results(decided.mod, sample), exact)


def test_what_is_proven_is_on_the_device_in_exact_mode():
    def body(b):
        b.dense("whole", 8)
        # A zero point that is a whole and even number of steps is a whole number of sums.
        b.requantize("whole", "float32_zp", 1 / 512, -128)
        b.dense("single", 8)
        b.requantize("single", "tflite_single", 0.001, 0)

    mod = Builder((4, 16)).make(body)
    decided = decide(mod, CONFIG)
    assert all(layer.is_on_device and layer.is_exact for layer in decided.layers)
    (sample,) = inputs_of(mod, 1)
    found = results(decided.mod, sample)
    np.testing.assert_array_equal(found, results(mod, sample))
    assert len(np.unique(found)) > 20


def test_scales_in_the_weights_keep_the_zero_points():
    """The bias follows the rounded weights: without that, results would be off by a constant."""

    def body(b):
        b.dense("first", 32)
        b.requantize("first", "float32_zp", 0.004, -120)
        b.dense("second", 24)
        b.requantize("second", "float32_zp", np.linspace(0.0004, 0.004, 24), 11)

    mod = Builder((64, 32)).make(body)
    decided = decide(mod, CONFIG, NumericsOptions(exact=frozenset({"first"}), mode=FAST))
    (sample,) = inputs_of(mod, 1)
    exact = results(mod, sample).astype(int)
    difference = results(decided.mod, sample) - exact
    inside = np.abs(exact) < 100
    assert inside.any() and np.abs(difference[inside].mean(0)).max() < 1.5
    assert np.abs(difference).max() > 1  # rounded weights do cost something


def test_a_choice_for_each_layer():
    mod = mixed()
    decided = decide(mod, CONFIG, NumericsOptions(device=frozenset({"zero_point"})))
    assert [layer.name for layer in decided.layers if layer.is_on_device] == ["own", "zero_point"]
    options = NumericsOptions(FAST, exact=frozenset({"zero_point"}), host=frozenset({"own"}))
    decided = decide(mod, CONFIG, options)
    layers = by_name(decided)
    assert [name for name in layers if not layers[name].is_on_device] == ["own", "zero_point"]
    assert layers["own"].why == "asked for: host"
    # Nor does its product run on the device, as sums.
    assert decided.host == {"own_conv"}
    split = partition(decided.mod, CONFIG, host=decided.host, reasons=decided.reasons)
    reasons = {decision.name: decision.reason for decision in split.decisions}
    assert reasons["own"] == "asked for: host"
    assert "of its" in reasons["zero_point"] and "steps" in reasons["zero_point"]


def test_layers_that_spell_their_requantization_themselves():
    def body(b):
        b.conv("conv", 8)
        b.value = kind_of(CONFIG).numbers.rule.emit(b.builder, b.value, 0.01, "conv")

    mod = Builder((1, 8, 8, 3)).make(body)
    decided = decide(mod, CONFIG)
    assert [(layer.name, layer.where) for layer in decided.layers] == [("conv_conv", "device")]
    decided = decide(mod, CONFIG, NumericsOptions(host=frozenset({"conv_conv"})))
    split = partition(decided.mod, CONFIG, host=decided.host)
    assert split.regions == ()
    assert "asked for: host" in {decision.reason for decision in split.decisions}


def test_all_on_the_device_or_the_list_of_what_is_not():
    mod = mixed()
    decided = decide(mod, CONFIG)
    with pytest.raises(NumericsError, match="not all is on the device") as raised:
        check_all_on_device(partition(decided.mod, CONFIG, reasons=decided.reasons))
    text = str(raised.value)
    assert "zero_point (requantize): tflite_double: 58 of its" in text
    assert "channels (requantize): 8 scales, one a channel" in text and "own (" not in text

    def body(b):
        b.emit(op.reshape(b.value, (4, 16)), "rows")  # the same memory
        b.dense("only", 4)
        b.requantize("only", "float32", 0.002)

    decided = decide(Builder((2, 2, 16)).make(body), CONFIG)
    check_all_on_device(partition(decided.mod, CONFIG, reasons=decided.reasons))


def test_sums_that_are_used_twice_stay():
    def body(b):
        sums = b.dense("layer", 4)
        first = b.requantize("layer", "float32", 0.002)
        b.value = sums
        second = b.requantize("again", "float32", 0.001)
        b.emit(op.maximum(first, second))

    decided = decide(Builder((4, 16)).make(body), CONFIG)
    assert [layer.why for layer in decided.layers] == ["its sums are used elsewhere as well"] * 2


def test_a_device_that_shifts():
    def body(b):
        b.dense("shift", 16)
        b.requantize("shift", "tflite_single", 2.0**-9)
        b.dense("scale", 16)
        b.requantize("scale", "float32", 0.0021)
        b.dense("channels", 16)
        b.requantize("channels", "float32", np.linspace(0.001, 0.002, 16))

    mod = Builder((16, 16)).make(body)
    config = preset("vta-1x16x16")
    assert [layer.is_on_device for layer in decide(mod, config).layers] == [True, False, False]
    decided = decide(mod, config, NumericsOptions(FAST))
    assert [layer.is_on_device for layer in decided.layers] == [True, False, True]
    assert len(partition(decided.mod, config).regions) == 2
    (sample,) = inputs_of(mod, 1)
    np.testing.assert_array_equal(results(decide(mod, config).mod, sample), results(mod, sample))


def test_what_stays_named_is_what_it_was():
    mod = mixed()
    decided = decide(mod, CONFIG)
    graph = Graph(decided.mod)
    kept = [operation_of(decided.mod, graph.value[var]) for var in graph.order]
    assert [found[0].rule for found in kept if found] == [
        "tflite_double",
        "tflite_double",
        "float32_zp",
    ]
