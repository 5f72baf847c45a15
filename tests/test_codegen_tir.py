"""The code generator: programs as text, results of kernels that were once wrong, and errors."""

from __future__ import annotations

import pytest
from kernel_runs import check_schedule, kernel_schedule

from npu_target import topi
from npu_target.codegen_tir import CodegenError, DoesNotFit, build_program
from npu_target.device import preset
from npu_target.devices.gemmini import isa
from npu_target.program import Program
from npu_target.schedule_rules import default_schedule
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure
from npu_target.topi.pool_schedule import schedule_pool

# What was once computed wrongly, or not at all.
REGRESSIONS = [
    # A store that waits for the next part's steps, in rows which that part takes over.
    ("gemmini-16x16", topi.Conv2d(1, 1, 2, 1, 1, 1, 2, pad=(0, 0, 0, 1), bias=False)),
    # Several blocks of a bias in one load.
    ("gemmini-8x8", topi.Matmul(1, 1, 1, 17)),
    # Weights that follow the last steps of a nest whose loop was cut in two.
    ("gemmini-8x8", topi.Matmul(2, 25, 1, 193, bias=False)),
    # A pooled image wider than the store unit counts, and one window a line.
    ("gemmini-16x16", topi.MaxPool2d(1, 10, 300, 5, 3, 1)),
    ("gemmini-16x16", topi.MaxPool2d(1, 300, 3, 5, 3, 2)),
    # Kernels whose weights do not fit, and strides past the rows of a step.
    ("gemmini-32x32", topi.Conv2d(1, 17, 33, 3, 40, 16, 16, (16, 16))),
    ("gemmini-32x32", topi.Conv2d(1, 3, 5000, 2, 3, 3, 3, (1, 700))),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("device", "operator"), REGRESSIONS, ids=lambda value: getattr(value, "name", value)
)
def test_regressions(device, operator):
    config = preset(device)
    check_schedule(operator, default_schedule(operator.kernel(), config), config)
    for template in operator.kernel().templates(config):
        schedule = kernel_schedule(operator, config, seed=1)
        template(schedule)
        try:
            check_schedule(operator, schedule, config)
        except CodegenError as error:
            assert isinstance(error, DoesNotFit) or "store unit counts" in str(error), error


SMALL_DEVICE = preset("gemmini-8x8")


def mac_program(operator: topi.Operator, structure: MacStructure, **tiles: list[int]) -> Program:
    schedule = kernel_schedule(operator, SMALL_DEVICE, seed=1)
    schedule_mac(schedule, structure, tiles)
    return check_schedule(operator, schedule, SMALL_DEVICE)


def pool_program(operator: topi.Operator, **tiles: list[int]) -> Program:
    schedule = kernel_schedule(operator, SMALL_DEVICE, seed=1)
    schedule_pool(schedule, SMALL_DEVICE.memories, True, tiles)
    return check_schedule(operator, schedule, SMALL_DEVICE)


# Padding on all sides, a last block of channels that is narrow, weights that stay for two lines.
CONV = topi.Conv2d(1, 6, 16, 20, 10, 3, 3, (2, 2), (1, 1, 1, 1), True, True, 0.25)
# Lines shorter than the array's side.
SHORT = topi.Conv2d(1, 5, 5, 20, 10, 3, 3, (1, 1), (1, 1, 1, 1), True, True, 0.25)
GOLDEN = {
    "conv2d_simple": lambda: mac_program(
        CONV,
        MacStructure(pipelined=False),
        blocks=[1, 2],
        lines=[1, 3],
        steps=[1, 1],
    ),
    "conv2d_pipelined": lambda: mac_program(
        CONV,
        MacStructure(kept=True, two_sums=True),
        blocks=[1, 2],
        lines=[3, 1],
        steps=[1, 1],
    ),
    "conv2d_joined": lambda: mac_program(
        SHORT, MacStructure(two_sums=True), blocks=[2, 1], steps=[1, 5]
    ),
    # Blocks of channels in a loop, of which each is stored by a scale of its own.
    "matmul_block_scales": lambda: mac_program(
        topi.Matmul(1, 30, 64, 34, False, False, (0.5,) * 8 + (0.25,) * 8 + (0.125,) * 18),
        MacStructure(kept=True, two_sums=True),
        blocks=[5, 1],
        steps=[1, 4],
    ),
    "matmul_split_depth": lambda: mac_program(
        topi.Matmul(1, 10, 64, 9, False, False, 0.5),
        MacStructure(split_depth=True),
        blocks=[1, 2],
        steps=[1, 2],
        depth=[4, 2],
    ),
    # Inputs that stay, in halves: the first tile's steps take turns, the next one's loads wait.
    "matmul_halved": lambda: mac_program(
        topi.Matmul(1, 16, 256, 24, False, False, 0.5),
        MacStructure(
            "inputs_kept", kept=True, two_sums=True, step_order="kernel_first", halved=True
        ),
        blocks=[3, 1],
        steps=[1, 2],
    ),
    # The first tile's steps in outer-product order, the second one's in inner-product order.
    "matmul_ends": lambda: mac_program(
        topi.Matmul(1, 40, 256, 24, True, False, 0.5),
        MacStructure("inputs_kept", split_depth=True, wide=True, packed=True, ends=True),
        blocks=[1, 2],
        steps=[1, 3],
        depth=[2, 8],
    ),
    "add": lambda: mac_program(
        topi.Add(20, 32, 8, True, 0.25),
        MacStructure(kept=True, two_sums=True, wide=True, step_order="kernel_first"),
        blocks=[1, 8],
        steps=[2, 1],
    ),
    "add_in_order": lambda: mac_program(
        topi.Add(20, 32, 8, True, 0.25),
        MacStructure(kept=True, two_sums=True, wide=True, step_order="kernel_first", in_order=True),
        blocks=[1, 8],
        steps=[2, 1],
    ),
    "conv2d_packed": lambda: mac_program(
        SHORT,
        MacStructure(split_depth=True, packed=True),
        blocks=[1, 2],
        depth=[3, 1],
    ),
    "max_pool2d": lambda: pool_program(
        topi.MaxPool2d(1, 9, 9, 12, 3, 2, (1, 1, 1, 1)), n=[1, 1], cb=[1, 2], y=[1, 5], xx=[1, 5]
    ),
    "global_avg_pool": lambda: mac_program(
        topi.GlobalAvgPool(1, 5, 5, 12, 8, 0.04),
        MacStructure("inputs_kept", kept=True),
        blocks=[1, 2],
    ),
}


@pytest.mark.parametrize("border", [(1, 1, 1, 1), (0, 0, 2, 2)])
def test_borders_of_pooled_tiles_are_elements_times_0(border):
    """On the hardware shrunk loads of zeros never end, and others can get lost."""
    config = preset("gemmini-16x16")
    operator = topi.MaxPool2d(n=1, h=20, w=20, c=64, size=3, stride=2, pad=border)
    schedule = default_schedule(operator, config)
    program = build_program(schedule.mod["main"], config, operator.name)
    stream = [
        isa.COMMANDS.decode(*words) for words in program.expand({"x": 1 << 20, "out": 1 << 30})
    ]
    scales = dict.fromkeys(range(len(isa.LOADS)), 1.0)
    used = set()
    for command in stream:
        if isinstance(command, isa.ConfigLd):
            scales[command.id] = command.scale
        elif isinstance(command, isa.LOADS):
            assert command.dram_address != 0
            used.add(scales[isa.LOADS.index(type(command))])
    assert used == {0.0, 1.0}


def test_a_phase_with_too_many_settings_is_made_again_whole():
    """Two tiles of sums, and more strides than the device holds: found with the overlap on."""
    operator = topi.Matmul(1, 1, 512, 1000)
    device = preset("gemmini-16x16")
    schedule = kernel_schedule(operator, device, seed=1)
    tiles = {"blocks": [9, 7], "steps": [1, 1]}
    schedule_mac(schedule, MacStructure(kept=True, two_sums=True), tiles)
    check_schedule(operator, schedule, device)


@pytest.mark.parametrize("name", GOLDEN)
def test_disassembly(name, golden):
    golden(f"{name}.txt", GOLDEN[name]().text + "\n")
