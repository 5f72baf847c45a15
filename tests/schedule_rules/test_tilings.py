"""Tilings that are said to fit do, and cost more where the device is slower."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_strategies import devices, operators
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.schedule_rules.tilings import Tilings, mac_tilings, pool_tilings
from npu_target.topi import Operator

DEFAULT = GemminiConfig()
LAYERS = [
    topi.Conv2d(1, 14, 14, 256, 256, 3, 3, (1, 1), (1, 1, 1, 1)),
    topi.Conv2d(1, 7, 7, 512, 512, 3, 3, (1, 1), (1, 1, 1, 1)).kernel(),
    topi.Conv2d(1, 64, 64, 3, 64, 7, 7, (2, 2), (3, 3, 3, 3)).kernel(),
    topi.DepthwiseConv2d(1, 28, 28, 96, 3, 3, DEFAULT.dim, (1, 1), (1, 1, 1, 1)),
    topi.Matmul(3, 37, 700, 500),
    topi.Add(784, 40, DEFAULT.dim),
    topi.Add(784, 40, DEFAULT.dim, bias=True),
    topi.GlobalAvgPool(2, 7, 7, 96, DEFAULT.dim),
    topi.MaxPool2d(1, 28, 28, 64, 3, 2, (1, 1, 1, 1)),
]


def tilings_of(operator: Operator, config: GemminiConfig) -> tuple[Schedule, Tilings]:
    sch = Schedule(operator.prim_func(config))
    if isinstance(operator, topi.MaxPool2d):
        return sch, pool_tilings(operator, operator.pool_shape(config), config)
    return sch, mac_tilings(sch, operator, operator.mac_shape(config), config)


@pytest.mark.long
@pytest.mark.parametrize("op", sorted(set(topi.operators()) - {"max_pool2d"}))
@settings(max_examples=5)
@given(data=st.data())
def test_what_is_said_to_fit_compiles(op, data):
    config = data.draw(devices)
    operator = data.draw(operators(config)[op]).kernel()
    sch, tilings = tilings_of(operator, config)
    assert np.all(tilings.estimates > 0)
    tilings[data.draw(st.integers(0, len(tilings.estimates) - 1))].apply(sch, config)
    build_program(sch.mod["main"], config, operator.name)


def test_inputs_of_all_channels_stay_where_each_has_its_own():
    """A depthwise operator's inputs that stay past all blocks are more than the memory has."""
    config = preset("gemmini-32x32")
    operator = topi.DepthwiseConv2d(1, 64, 64, 768, 3, 3, 32, (2, 2), (1, 1, 1, 1))
    _, tilings = tilings_of(operator, config)
    stays = [s.kept and s.tiles == "inputs_kept" for s in tilings.structures]
    tall = np.array(stays)[tilings.structure] & (tilings.sizes[:, 1] >= 8)
    assert any(stays) and not tall.any()


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize(
    "slower",
    [
        {"bus_bytes": 8},
        {"acc_scale_latency_cycles": 40},
        {"l2_hit_latency_cycles": 40},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_slower_device_takes_no_less(layer, slower):
    """Element by element; and more for some, since it is a part of what tiles take."""
    device = DEFAULT.replace(name="slower", **slower)
    (_, before), (_, after) = tilings_of(layer, DEFAULT), tilings_of(layer, device)
    assert np.array_equal(before.sizes, after.sizes)
    assert np.all(after.estimates >= before.estimates)
    assert np.any(after.estimates > before.estimates)


@pytest.mark.long
@pytest.mark.parametrize("layer", LAYERS[:-1], ids=lambda layer: layer.name)
@pytest.mark.parametrize(
    "slower",
    [
        {"memory_bytes_per_kilocycle": 500},
        {"memory_latency_cycles": 200},
        {"host_cycles_per_instruction": 12},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_slower_memory_or_host_takes_no_less(layer, slower):
    device = DEFAULT.replace(name="slower", **slower)
    (_, before), (_, after) = tilings_of(layer, DEFAULT), tilings_of(layer, device)
    assert np.all(after.estimates >= before.estimates)
    assert np.any(after.estimates > before.estimates)


def test_a_cache_that_holds_the_tensors_saves_loading_them_again():
    layer = topi.Conv2d(1, 28, 28, 64, 128, 1, 1).kernel()
    (_, large), (_, small) = (
        tilings_of(layer, DEFAULT.replace(name="cached", l2_bytes=size)) for size in (2**20, 2**14)
    )
    assert np.all(small.estimates >= large.estimates * (1 - 1e-9))  # but for rounding
    assert np.any(small.estimates > large.estimates)
