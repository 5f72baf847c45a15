"""Default schedules: every size of every operator compiles, and computes what NumPy does."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from operator_strategies import devices, operators
from tvm.s_tir import Schedule
from vector_unit import device as vector_device
from vector_unit.installed import vector_unit

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api.simulators import DeviceError, DeviceRun, register_simulator
from npu_target.schedule_rules import default, default_schedule
from npu_target.schedule_rules.default import default_choice
from npu_target.schedule_rules.host_bounds import ranked_cycles
from npu_target.schedule_rules.tilings import Tiling
from npu_target.schedule_rules.traces import trace_json
from npu_target.topi.definition import definition
from npu_target.topi.mac_structure import STEP_ORDERS, MacStructure
from npu_target.tuning.schedules import default_of
from npu_target.tuning.search import point_space

__all__ = ["vector_unit"]

seeds = st.integers(0, 2**32)


def check_default(op: str, data: st.DataObject) -> None:
    config = data.draw(devices, "device")
    operator = data.draw(operators(config)[op], "operator")
    schedule = default_schedule(operator.kernel(), config)
    check_schedule(operator, schedule, config, data.draw(seeds, "seed"))


@pytest.mark.long
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=6)
@given(data=st.data())
def test_equals_numpy(op, data):
    check_default(op, data)


@pytest.mark.parametrize("op", sorted(topi.operators()))
@given(data=st.data())
def test_a_kernel_has_that_of_its_canonical_operator(op, data):
    """So that what a build compiles, with its own scales and paddings, is what was compared."""
    config = data.draw(devices)
    operator = data.draw(operators(config)[op])
    assert default._key(operator.kernel(), config) == default._key(operator.canonical(), config)


def _fails(error: Exception) -> Callable[[DeviceRun], dict[str, int]]:
    def simulate(run: DeviceRun) -> dict[str, int]:
        raise error

    return simulate


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ZeroDivisionError("none here"), r"test_default\.py:\d+: ZeroDivisionError: none here"),
        (DeviceError("unsupported_command", "opcode 9"), r"\[unsupported_command\] opcode 9"),
    ],
)
def test_a_simulator_that_runs_nothing_is_no_reason_to_choose_blindly(vector_unit, error, text):
    register_simulator(vector_device.KIND.name, _fails(error))
    operator = topi.Matmul(1, 8, 16, 8).canonical()
    with pytest.raises(RuntimeError, match=text):
        default_schedule(operator, vector_device.CONFIG)


def test_programs_that_race_are_passed_over(vector_unit):
    register_simulator(vector_device.KIND.name, _fails(DeviceError("race", "two loads")))
    operator = topi.Matmul(1, 8, 16, 8).canonical()
    schedule = default_schedule(operator, vector_device.CONFIG)
    assert build_program(schedule.mod["main"], vector_device.CONFIG, "matmul").body


def test_steps_without_a_loop():
    """So few that none is left: a store must not come between a preload and its compute."""
    config = preset("gemmini-32x32")
    operator = topi.Matmul(1, 61, 1, 1, bias=False, scale=1.0)
    check_schedule(operator, default_schedule(operator.kernel(), config), config, 0)


@pytest.mark.parametrize(
    "dim, operator, in_order",
    [
        (8, topi.Add(64, 200, 8), True),
        (16, topi.Add(49, 512, 16), True),
        (16, topi.Conv2d(1, 1, 196, 576, 96, 1, 1, (1, 1), (0, 0, 0, 0), True, False), False),
    ],
)
def test_the_better_order_of_steps(dim, operator, in_order):
    config = preset(f"gemmini-{dim}x{dim}")
    choice = default_choice(operator.canonical(), config)
    assert isinstance(choice, Tiling) and isinstance(choice.structure, MacStructure)
    assert choice.structure.in_order == in_order

    def cycles(tiling: Tiling) -> float:
        schedule = Schedule(definition(operator.canonical(), config))
        tiling.apply(schedule, config)
        return ranked_cycles(build_program(schedule.mod["main"], config, "layer").to_bytes())

    by_order = {order: cycles(choice.with_structure(step_order=order)) for order in STEP_ORDERS}
    assert by_order[choice.structure.step_order] == min(by_order.values())
    assert len(set(by_order.values())) > 1


@pytest.mark.parametrize(
    "operator",
    [
        topi.Matmul(1, 256, 1024, 1024),
        topi.Matmul(1, 1024, 64, 1024, bias=False),
        topi.Matmul(1, 128, 768, 3072),
        topi.Conv2d(1, 9, 20, 19, 35, 3, 3, (2, 1), (1, 1, 1, 1)),
        topi.DepthwiseConv2d(1, 14, 14, 48, 3, 3, 16, (2, 2), (1, 1, 1, 1)),
        topi.Add(40, 40, 16),
    ],
    ids=lambda operator: operator.name,
)
def test_a_search_can_begin_from_it(operator):
    """It is a point of the space."""
    config = preset("gemmini-16x16")
    operator = operator.canonical()
    trace = trace_json(default_of(operator, config).trace)
    space = point_space(operator, config, "both", 1, random.Random(1))
    assert space.find(trace) is not None


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=300)
@given(data=st.data())
def test_equals_numpy_at_length(op, data):
    check_default(op, data)
