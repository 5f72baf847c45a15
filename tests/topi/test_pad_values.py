"""Images padded by another value than 0: what operators compute, on each device that does it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npu_target import topi
from npu_target.conformance.runs import default_program, expected, inputs_of, launched
from npu_target.device import DeviceConfig, Features, kind_of, preset
from npu_target.device_api import program_cycles
from npu_target.topi import Conv2d, DepthwiseConv2d, MaxPool2d, Operator, OperatorError
from npu_target.topi.fitting import fitted
from npu_target.topi.routed import routes_of

PAD = (1, 2, 0, 1)
CONFIG = preset("gemmini-16x16")
CONV = Conv2d(1, 8, 8, 16, 16, 3, 3, (1, 1), (1, 1, 1, 1))


def padded_operators(config: DeviceConfig, value: int) -> list[Operator]:
    """Of images that fit nothing: convolutions whose lines are joined and not, of few channels, of
    single pixels; by diagonals; a pool."""
    identity = MaxPool2d.examples(config)[0].dim
    found = [
        Conv2d(1, 6, 9, 40, 20, 3, 3, (1, 1), PAD, pad_value=value),
        Conv2d(1, 7, 40, 20, 20, 3, 3, (1, 1), PAD, sums=True, pad_value=value),
        Conv2d(2, 20, 19, 3, 20, 3, 3, (2, 2), PAD, pad_value=value),
        Conv2d(1, 5, 9, 20, 20, 1, 1, (1, 1), PAD, pad_value=value),
        DepthwiseConv2d(1, 7, 9, 40, 3, 3, config.dim, (1, 1), PAD, pad_value=value),
        MaxPool2d(2, 9, 8, 20, 3, 2, PAD, identity, value),
    ]
    if not kind_of(config).features(config).stores_sums:
        del found[1]
    return [fitted(operator, config) for operator in found]


@pytest.mark.long
@pytest.mark.parametrize("value", [-128, 77])
@pytest.mark.parametrize("device", ["gemmini-16x16", "gemmini-8x8", "vta-1x16x16"])
def test_equals_numpy(device, value):
    config = preset(device)
    for operator in padded_operators(config, value):
        program, mod = default_program(operator, config)
        result = launched(program, inputs_of(operator, config, mod))
        np.testing.assert_array_equal(result, expected(operator, config))
        # What is read for that is the program's own.
        rows = {constant.name for constant in program.constants} - {"micro_ops", "zeros"}
        assert rows == {"row_of_77" if value > 0 else "row_of_minus_128"}


def test_it_makes_a_difference():
    """The sums of outputs at the border, and of no others."""
    inputs = CONV.sample(np.random.default_rng(0))
    numbers = kind_of(CONFIG).numbers
    zero, other = (
        replace(CONV, sums=True, pad_value=value).reference(inputs, numbers).reshape(8, 8, 16)
        for value in (0, -7)
    )
    border = np.ones((8, 8), bool)
    border[1:-1, 1:-1] = False
    assert (zero[border] != other[border]).mean() > 0.9
    np.testing.assert_array_equal(zero[~border], other[~border])


def test_a_log_says_it_only_where_it_is_so():
    assert "pad_value" not in CONV.attrs()
    padded = replace(CONV, pad_value=-7)
    assert padded.attrs() == {**CONV.attrs(), "pad_value": -7}
    assert topi.make("conv2d", padded.attrs()) == padded
    assert padded.name == f"{CONV.name}_filled"


def test_values_take_the_same_time_but_for_0():
    assert replace(CONV, pad_value=-7).canonical() == replace(CONV, pad_value=3).canonical()
    assert replace(CONV, pad_value=-7).canonical() != CONV.canonical()
    unpadded = replace(CONV, pad=(0, 0, 0, 0))
    assert replace(unpadded, pad_value=-7).canonical() == unpadded.canonical()
    assert replace(unpadded, pad_value=-7).name == unpadded.name


def test_a_value_is_an_int8():
    with pytest.raises(OperatorError, match="conv2d: pad_value must be -128 to 127, got 128"):
        replace(CONV, pad_value=128)


def test_rows_hold_windows_whatever_is_beside_the_image():
    """The first layer of a MobileNet takes the windows that it takes with zeros."""
    zeros = Conv2d(1, 32, 32, 3, 16, 3, 3, (2, 2), (0, 0, 1, 1)).kernel()
    padded = replace(zeros, pad_value=-128)
    assert zeros.windows and padded.kernel().windows
    assert padded.mac_shape(CONFIG) == replace(zeros.mac_shape(CONFIG), window=padded.window)
    programs = [default_program(operator, CONFIG)[0] for operator in (zeros, padded)]
    cycles = [program_cycles(program.to_bytes()) for program in programs]
    assert cycles[1] < 1.1 * cycles[0]


def test_the_librarys_convolutions_pad_with_0():
    assert routes_of(CONV, CONFIG) == ["loop_conv_ws"]
    assert routes_of(replace(CONV, pad_value=-7), CONFIG) == []


@pytest.mark.parametrize("operator", [CONV, MaxPool2d(1, 9, 9, 16, 3, 2, (1, 1, 1, 1))])
def test_a_device_that_pads_with_0_alone_has_no_definition(operator, monkeypatch):
    there = kind_of(CONFIG).features(CONFIG)
    without = Features(there.pooled_stores, there.stacked_loads, there.step)
    monkeypatch.setitem(vars(kind_of(CONFIG)), "features", lambda config: without)
    operator.prim_func(CONFIG)
    with pytest.raises(OperatorError, match="loads of gemmini-16x16 pad with 0, not with -7"):
        replace(operator, pad_value=-7).prim_func(CONFIG)
    assert not any(example.pad_value for example in type(operator).examples(CONFIG))
