"""Pools of a network for a device whose stores pool nothing and which requantizes by shifts."""

from __future__ import annotations

import numpy as np
import pytest
from partition.integer_functions import image_sum, requantize
from relax_functions import function_of
from tvm import relax
from tvm.relax import op

from npu_target.device import preset
from npu_target.host import build_host, run_host
from npu_target.partition import Partitioned, partition

CONFIG = preset("vta-1x16x16")


def pooled(padding: tuple[int, int, int, int], clipped: bool = True) -> Partitioned:
    def body(emit, x):
        data = emit(op.maximum(x, relax.const(np.int8(0)))) if clipped else x
        return emit(
            op.nn.max_pool2d(data, (3, 3), (2, 2), padding, layout="NHWC", out_layout="NHWC")
        )

    mod = function_of([(2, 9, 11, 20)], body, "int8")
    split = partition(mod, CONFIG)
    x = np.random.default_rng(0).integers(-128, 128, (2, 9, 11, 20)).astype(np.int8)
    (wanted,), (found,) = (run_host(build_host(each), x) for each in (mod, split.mod))
    np.testing.assert_array_equal(found, wanted)
    return split


@pytest.mark.parametrize(("padding", "clipped"), [((0, 0, 0, 0), False), ((1, 1, 1, 1), True)])
def test_a_max_pool_is_the_devices(padding, clipped):
    """What the host says is what the operator's definition says."""
    (region,) = pooled(padding, clipped).regions
    assert region.op == "max_pool2d"
    assert region.operator.dim == CONFIG.dim


@pytest.mark.parametrize(("clipped", "value"), [(False, -128), (True, 0)])
def test_padding_is_the_least_element_or_0_where_none_is_less(clipped, value):
    (region,) = pooled((1, 1, 1, 1), clipped).regions
    assert region.operator.pad_value == value


def averaged(side: int, divided) -> tuple[Partitioned, list[np.ndarray]]:
    def body(emit, x):
        return divided(emit, image_sum(emit, x))

    mod = function_of([(1, side, side, 20)], body, "int8")
    split = partition(mod, CONFIG)
    x = np.random.default_rng(0).integers(-128, 128, (1, side, side, 20)).astype(np.int8)
    return split, [run_host(build_host(each), x)[0] for each in (mod, split.mod)]


def test_an_average_is_the_devices_where_a_shift_divides():
    def shifted(emit, total):
        halves = emit(op.add(total, relax.const(np.int32(32))))
        value = emit(op.right_shift(halves, relax.const(np.int32(6))))
        return emit(op.astype(emit(op.clip(value, -128, 127)), "int8"))

    split, (wanted, found) = averaged(8, shifted)
    (region,) = split.regions
    assert (region.op, region.operator.scale) == ("global_avg_pool", 2.0**-6)
    np.testing.assert_array_equal(found, wanted)


def test_an_average_that_no_shift_divides_stays_on_the_host():
    split, (wanted, found) = averaged(7, lambda emit, total: requantize(emit, total, 1 / 49))
    assert not split.regions
    reasons = {decision.name: decision.reason for decision in split.decisions}
    assert "sums that are not requantized as the device does it" in reasons["sum"]
    np.testing.assert_array_equal(found, wanted)
