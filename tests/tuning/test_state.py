from __future__ import annotations

import math

import pytest

from npu_target.device import kind_of, preset
from npu_target.topi import Add, Matmul
from npu_target.tuning.layers import Layer, layers_of
from npu_target.tuning.state import LayerState

CONFIG = preset("gemmini-16x16")
SECOND_CYCLES = CONFIG.clock_khz * 1e3


OPERATOR = Matmul(1, 64, 64, 64)
LEAST_CYCLES = kind_of(CONFIG).cost.least_cycles(OPERATOR, CONFIG)


def state(times_the_bound: float, count: int = 1) -> LayerState:
    result = LayerState(Layer(OPERATOR, count), None, CONFIG)
    result.set_default(times_the_bound * LEAST_CYCLES / SECOND_CYCLES)
    return result


def test_equal_operators_are_one_layer():
    scaled = Matmul(1, 4, 8, 16, scale=0.5, relu=True)
    layers = layers_of([Matmul(1, 4, 8, 16), Add(3, 5, 16), scaled])
    assert [(layer.operator.op, layer.count) for layer in layers] == [("matmul", 2), ("add", 1)]


def test_the_layer_with_most_to_gain_is_first():
    assert state(3.0).promise() > state(2.0).promise() > state(1.0).promise() == 0
    assert state(2.0, count=3).promise() > state(3.0).promise()


def test_batches_without_gain_make_a_layer_less_promising():
    fruitless, fresh = state(3.0), state(2.0)
    fruitless.end_batch(16)
    fruitless.end_batch(16)
    assert fruitless.promise() < fresh.promise()


def test_a_gain_promises_more():
    gaining, resting = state(3.0), state(3.0)
    gaining.best_seconds *= 0.8
    for one in (gaining, resting):
        one.end_batch(16)
    assert gaining.promise() > resting.promise()


def test_a_space_is_used_up_after_three_batches_of_nothing_new():
    used = state(2.0)
    for new in (16, 0, 0, 1, 0, 0):
        used.end_batch(new)
        assert not used.exhausted
    used.end_batch(0)
    assert used.exhausted


def test_bounds_count_where_what_measures_keeps_to_them():
    """What is faster than the device of the config can be has other bounds."""
    assert state(3.0).cycles_to_beat() == 3 * LEAST_CYCLES
    assert state(1.0).cycles_to_beat() == LEAST_CYCLES
    assert state(0.5).cycles_to_beat() == math.inf


def test_the_result_is_in_cycles():
    tuned = state(2.0)
    assert tuned.result().source == "default"
    tuned.best_seconds /= 2
    result = tuned.result()
    assert result.source == "tuned" and result.default_cycles == 2 * result.cycles
    assert result.utilization(CONFIG) == pytest.approx(64**3 / 256 / LEAST_CYCLES)
