"""How wide the blocks of channels with one scale are: the least that do not cost too much."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numerics.networks import Builder, inputs_of

from npu_target.devices.gemmini.config import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.numerics import FAST, NumericsOptions, decide
from npu_target.numerics.scale_widths import partitioned_quickly, scale_widths, widths
from npu_target.partition import partition

DEVICE = GemminiConfig()


def per_channel(channels=80):
    """Two convolutions with a scale for each channel."""

    def body(b):
        scales = b.random.uniform(0.0002, 0.0008, channels)
        b.conv("first", channels, 1)
        b.requantize("first", "float32", scales)
        b.conv("second", channels, 1)
        b.requantize("second", "float32", scales[::-1].copy(), low=0)

    return Builder((1, 4, 4, 16)).make(body)


def width_of(operator):
    """Of how many channels an operator's blocks are."""
    if not isinstance(operator.scale, tuple):
        return None
    scales = operator.scale
    changes = [at for at in range(1, len(scales)) if scales[at] != scales[at - 1]]
    return int(np.gcd.reduce(changes))


def decided(cycles, **options):
    return decide(per_channel(), DEVICE, NumericsOptions(FAST, **options), cycles=cycles)


@cache
def partitioned():
    network = decided(None)
    return partitioned_quickly(network.mod, DEVICE, network.host)


@given(
    costs=st.fixed_dictionaries({width: st.integers(50, 200) for width in (16, 32, 64, None)}),
    most=st.floats(0, 1),
)
def test_the_least_width_that_does_not_cost_too_much(costs, most):
    products = {"first_conv", "second_conv"}
    found = scale_widths(
        partitioned(), products, 16, lambda operator: costs[width_of(operator)], most
    )
    cheap = [width for width in (16, 32, 64) if costs[width] / costs[None] - 1 <= most]
    wanted = cheap[0] if cheap else None
    assert found.keys() == (products if wanted != 16 else set())
    assert all(width.channels == wanted for width in found.values())
    assert all(width.excess == costs[16] / costs[None] - 1 for width in found.values())


def test_widths_are_doubled():
    assert list(widths(144, 16)) == [16, 32, 64, 128]
    assert list(widths(16, 16)) == []


@pytest.mark.parametrize(
    ("cheap", "form"),
    [
        ({16, None}, "scales in the weights and one for each 16 channels"),
        ({64, None}, "scales in the weights and one for each 64 channels"),
        ({None}, "scales in the weights"),
    ],
)
def test_layers_have_the_scales_that_are_cheap(cheap, form):
    def cycles(operator):
        return 100 if width_of(operator) in cheap else 146

    network = decided(cycles)
    says = "a scale for each 16 channels takes 46% more cycles"
    for layer in network.layers:
        assert layer.form == form
        assert layer.remark == ("" if 16 in cheap else says)
    partitioned = partition(network.mod, DEVICE, host=network.host, remarks=network.remarks)
    assert all((says in each.reason) == (16 not in cheap) for each in partitioned.decisions)
    regions = partitioned.regions
    wanted = min((width for width in cheap if width), default=None)
    assert {width_of(region.operator) for region in regions} == {wanted}
    # Coarser scales are farther off, not wrong.
    exact, near = (build_host(mod) for mod in (per_channel(), network.mod))
    for inputs in inputs_of(per_channel(), 2):
        (one,), (other,) = run_host(exact, *inputs), run_host(near, *inputs)
        assert np.abs(one.astype(int) - other).mean() < 2


def test_weights_that_would_lose_too_much_keep_their_blocks():
    fine = decided(None)
    least = min(float(layer.why.split()[3]) for layer in fine.layers) - 0.1
    network = decided(
        lambda operator: 100 if width_of(operator) is None else 200, least_weights_snr_db=least
    )
    assert network.layers == fine.layers
    assert not any(layer.is_exact for layer in network.layers)
