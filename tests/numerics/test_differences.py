"""What is counted: each layer given the exact network's inputs, and all behind each other."""

import numpy as np
import pytest
from numerics.networks import Builder, inputs_of

from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.numerics import FAST, NumericsOptions, decide
from npu_target.numerics.differences import Apart, differences

CONFIG = GemminiConfig()


def two_layers():
    def body(b):
        b.conv("first", 8)
        b.requantize("first", "tflite_double", 0.002, -20)
        b.conv("second", 8, zero_point=-20)
        b.requantize("second", "float32_zp", 0.00153, 9)

    return Builder((1, 12, 12, 3)).make(body)


def test_alone_and_accumulated():
    mod = two_layers()
    decided = decide(mod, CONFIG, NumericsOptions(FAST))
    samples = inputs_of(mod, 3)
    outputs = []
    found = differences(decided, samples, lambda n, right, other: outputs.append((n, right, other)))
    first, second = found.layers
    assert [each.layer.name for each in found.layers] == ["first", "second"]
    # Nothing is before the first; the second has its own differences and the first one's.
    assert first.alone == first.accumulated
    assert first.alone.most == 1 and 0 < first.alone.differ < 0.3 * first.alone.elements
    assert second.accumulated.differ > second.alone.differ > 0
    assert first.alone.elements == 3 * 10 * 10 * 8
    # The second is the network's end.
    assert found.outputs[0].differ == second.accumulated.differ
    exact, fast = build_host(mod), build_host(decided.mod)
    differ = sum(int((run_host(exact, *s)[0] != run_host(fast, *s)[0]).sum()) for s in samples)
    assert differ == second.accumulated.differ
    assert [number for number, *_ in outputs] == [0, 1, 2]
    np.testing.assert_array_equal(outputs[1][1][0], run_host(exact, *samples[1])[0])
    np.testing.assert_array_equal(outputs[1][2][0], run_host(fast, *samples[1])[0])


def test_alone_is_what_a_layer_makes_of_the_exact_inputs():
    mod = two_layers()
    both = differences(decide(mod, CONFIG, NumericsOptions(FAST)), inputs_of(mod, 2))
    options = NumericsOptions(FAST, exact=frozenset({"first"}))
    only = differences(decide(mod, CONFIG, options), inputs_of(mod, 2))
    assert only.layers[0].alone.differ == 0
    assert only.layers[1].alone == only.layers[1].accumulated == both.layers[1].alone


def test_exact_has_no_differences():
    mod = two_layers()
    found = differences(decide(mod, CONFIG), inputs_of(mod, 1))
    apart = [part for each in found.layers for part in (each.alone, each.accumulated)]
    assert all(part.differ == 0 and part.snr_db == float("inf") for part in apart)
    assert found.outputs[0].differ == 0


def test_signal_to_noise():
    apart = Apart()
    apart.add(np.array([13, 3], "int8"), np.array([12, 3], "int8"), zero_point=3)
    assert (apart.elements, apart.differ, apart.most) == (2, 1, 1)
    assert apart.snr_db == pytest.approx(20)
    apart.add(np.array([np.inf, 1.0]), np.array([np.inf, 1.0]))
    assert apart.differ == 1
