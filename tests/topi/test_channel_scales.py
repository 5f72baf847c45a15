"""A scale for each channel, on devices that have one for each block of them: what is accepted, what
is the same task, and that results are NumPy's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_runs import check_schedule
from reference.operators import requantized

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import kind_of, preset
from npu_target.device_api import program_cycles
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Conv2d, DepthwiseConv2d, Matmul, Operator, OperatorError
from npu_target.topi.output import Output
from npu_target.topi.routed import routes_of

CONFIG = preset("gemmini-16x16")
NUMBERS = kind_of(CONFIG).numbers
OPERATORS = [
    Matmul(1, 40, 64, 70),
    Matmul(2, 1, 30, 33, relu=True),  # blocks of a single row lie as rows of a command do
    Matmul(1, 5, 16, 9),
    Conv2d(1, 9, 9, 20, 100, 3, 3, (1, 1), (1, 1, 1, 1), relu=True),
    Conv2d(1, 33, 31, 3, 40, 3, 3, (2, 2), (0, 0, 1, 1)),
    Conv2d(1, 6, 7, 40, 48, 1, 1),
    DepthwiseConv2d(1, 9, 9, 70, 3, 3, 16, bias=False),
]


def by_block(operator: Operator, dim: int = CONFIG.dim) -> Operator:
    """With a scale for each block of channels."""
    n = operator.args[-1].shape[-1]
    blocks = np.random.default_rng(n).uniform(1e-3, 1e-1, -(-n // dim)).astype(np.float32)
    return replace(operator, scale=tuple(np.repeat(blocks, dim)[:n].tolist()))


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
@pytest.mark.parametrize("device", ["gemmini-16x16", "gemmini-8x8", "gemmini-32x32"])
def test_default_schedules_equal_numpy(operator, device):
    config = preset(device)
    if isinstance(operator, DepthwiseConv2d):
        operator = replace(operator, dim=config.dim)
    operator = by_block(operator, config.dim)
    check_schedule(operator, default_schedule(operator, config), config)


@pytest.mark.long
@pytest.mark.parametrize("width", [32, 48, 64, 160])
@pytest.mark.parametrize(
    "operator",
    [
        Matmul(1, 70, 24, 144),
        Matmul(1, 40, 64, 70),
        Conv2d(1, 9, 9, 20, 100, 3, 3, (1, 1), (1, 1, 1, 1), relu=True),
        DepthwiseConv2d(1, 9, 9, 130, 3, 3, 16, bias=False),
    ],
    ids=lambda operator: operator.name,
)
def test_neighbouring_blocks_of_one_scale(operator, width):
    operator = by_block(operator, width)
    check_schedule(operator, default_schedule(operator, CONFIG), CONFIG)


def test_blocks_of_one_scale_are_stored_at_once():
    """Of 64 channels: of the first product stores take most of the time."""

    def cycles(operator):
        schedule = default_schedule(operator, CONFIG)
        program = build_program(schedule.mod["main"], CONFIG, operator.name)
        return program_cycles(program.to_bytes())

    for depth, share in ((32, 0.75), (64, 0.9)):
        operator = Matmul(1, 3136, depth, 128)
        assert cycles(by_block(operator, 64)) < share * cycles(by_block(operator, 16))


def test_each_channel_is_stored_by_its_scale():
    scales = tuple(0.001 * (1 + np.arange(20)))
    sums = np.random.default_rng(0).integers(-(2**20), 2**20, (7, 20), np.int32)
    results = Output(scales).evaluate(sums, NUMBERS)
    for channel, scale in enumerate(scales):
        np.testing.assert_array_equal(results[:, channel], requantized(sums[:, channel], scale))


def test_a_log_says_all_of_them():
    operator = by_block(Conv2d(1, 9, 9, 16, 40, 3, 3))
    assert operator.attrs()["scale"] == list(operator.scale)
    assert topi.make("conv2d", operator.attrs()) == operator


def test_a_task_says_where_scales_change_and_not_which_they_are():
    operator = by_block(Conv2d(1, 9, 9, 16, 40, 3, 3))
    canonical = operator.canonical()
    other = replace(operator, scale=tuple(scale / 3 for scale in operator.scale))
    assert other.canonical() == canonical == canonical.canonical()
    assert canonical != replace(operator, scale=1.0).canonical()
    assert canonical.name == operator.name == "conv2d_9x9x16_40_k3_s1_p0_scales16"
    wider = replace(operator, scale=(0.5,) * 32 + (0.25,) * 8)
    assert wider.name.endswith("_scales32")
    assert len({wider.canonical(), canonical}) == 2
    assert (
        replace(operator, sums=True).canonical()
        == replace(operator, sums=True, scale=1.0).canonical()
    )


def test_there_is_one_for_each_channel():
    with pytest.raises(OperatorError, match="matmul: 3 scales for 4 channels"):
        Matmul(1, 2, 3, 4, scale=(1.0, 0.5, 0.25))
    with pytest.raises(OperatorError, match="matmul: scale must be finite in float32"):
        Matmul(1, 2, 3, 2, scale=(1.0, 1e39))


def test_padded_channels_have_scales():
    for operator in (by_block(Matmul(1, 2, 3, 20)), by_block(Conv2d(1, 5, 5, 3, 20, 3, 3))):
        padded = operator.padded(16)
        assert padded.scale == (*operator.scale, *(operator.scale[-1],) * 12)


def test_blocks_are_the_device_s():
    operator = by_block(Matmul(1, 8, 8, 40), dim=8)
    operator.check_device(preset("gemmini-8x8"))
    with pytest.raises(OperatorError, match="40 scales, one a channel, that differ within blocks"):
        operator.check_device(CONFIG)
    with pytest.raises(
        OperatorError, match="40 scales, one a channel: vta-1x16x16 has one for all"
    ):
        operator.check_device(preset("vta-1x16x16"))


def test_loops_of_the_hardware_have_one_scale():
    for operator in (Matmul(1, 40, 40, 40), Conv2d(1, 9, 9, 16, 32, 3, 3)):
        assert len(routes_of(operator, CONFIG)) == 1
        assert routes_of(by_block(operator), CONFIG) == []
