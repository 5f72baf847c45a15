"""The spaces: every schedule they hold computes what NumPy does, or does not fit."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import product

import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule, kernel_schedule
from operator_strategies import devices, operators
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target import topi
from npu_target.codegen_tir import DoesNotFit
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.schedule_rules import SPACES, space_generator
from npu_target.schedule_rules.rules import mac_structures
from npu_target.target import make_target
from npu_target.topi.mac_schedule import (
    for_loops,
    mac_loops,
    mac_traces,
    schedule_mac,
    scheduled_mac,
)
from npu_target.tuning.tune_context import NpuTuneContext

SMALL = [
    topi.Conv2d(1, 9, 20, 19, 35, 3, 3, (2, 1), (1, 1, 1, 1), True, True, 0.002),
    topi.DepthwiseConv2d(1, 9, 20, 19, 3, 3, 16, (1, 1), (1, 1, 1, 1), scale=0.02),
    topi.Matmul(2, 20, 40, 33, True, False, 0.003),
    topi.Add(40, 40, 16, True, 0.01),
    topi.MaxPool2d(2, 9, 8, 20, 3, 2, (1, 1, 1, 1)),
    topi.GlobalAvgPool(2, 7, 7, 40, 16, 1 / 49),
]


def design_space(
    operator: topi.Operator, config: GemminiConfig, space: str, seed: int = 1
) -> list[Schedule]:
    """The space's schedules, each with tiles drawn once."""
    context = NpuTuneContext(
        tvm.IRModule({"main": operator.kernel().prim_func(config)}),
        make_target(config),
        space_generator(operator.kernel(), config, space),
        ms.search_strategy.ReplayTrace(),
        operator.name,
        num_threads=1,
        rand_state=seed,
        logger=logging.getLogger(__name__),
    )
    return list(context.generate_design_space())


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("operator", SMALL, ids=lambda operator: operator.op)
def test_every_structure_equals_numpy(operator, space):
    config = GemminiConfig()
    schedules = design_space(operator, config, space)
    assert len(schedules) >= 2
    fitting = 0
    for index, schedule in enumerate(schedules):
        try:
            check_schedule(operator, schedule, config, index)
            fitting += 1
        except DoesNotFit as error:
            assert operator.name in str(error)
    assert fitting > len(schedules) // 2


@pytest.mark.parametrize("operator", SMALL, ids=lambda operator: operator.op)
def test_both_spaces_together_are_one_and_the_other(operator):
    config = GemminiConfig()
    counts = [len(design_space(operator, config, space)) for space in SPACES]
    template, rules, both = counts
    assert max(template, rules) <= both <= template + rules


def test_an_unknown_space_is_an_error():
    with pytest.raises(ValueError, match="unknown space 'wide'; known: template, rules, both"):
        space_generator(SMALL[0], GemminiConfig(), "wide")


@pytest.mark.parametrize("layout_free", [True, False])
def test_every_mix_of_traits_that_a_default_may_have_is_a_structure(layout_free):
    found = set(mac_structures(["blocks", "lines", "steps", "depth"], layout_free))
    plain = [one for one in found if not (one.packed or one.halved or one.ends or one.in_order)]
    for one, packed, halved, ends in product(plain, *[(False, True)] * 3):
        if packed and not (layout_free and one.pipelined):
            continue
        if (halved and not one.may_be_halved) or (ends and not one.pipelined):
            continue
        assert replace(one, packed=packed, halved=halved, ends=ends) in found


@pytest.mark.parametrize("layout_free", [True, False])
def test_products_may_come_in_program_order_and_images_may_not(layout_free):
    found = set(mac_structures(["blocks", "steps", "depth"], layout_free))
    plain = [one for one in found if one.pipelined and not (one.halved or one.ends)]
    assert plain and all(replace(one, in_order=True) in found for one in plain)
    for lines in ("lines", "joined"):
        images = mac_structures(["blocks", lines, "steps", "depth"], layout_free)
        assert not any(one.in_order for one in images)


def check_generated(op: str, data: st.DataObject) -> None:
    """One structure of the rules: generating all of them takes seconds an operator."""
    config = data.draw(devices, "device")
    operator = data.draw(operators(config)[op], "operator")
    schedule = kernel_schedule(operator, config, data.draw(st.integers(1, 2**31 - 1), "seed"))
    structures = for_loops(schedule, mac_structures(mac_loops(schedule)), config)
    structure = data.draw(st.sampled_from(structures), "structure")
    schedule_mac(schedule, structure)
    try:
        check_schedule(operator, schedule, config, 1)
    except DoesNotFit as error:
        assert operator.name in str(error)


@pytest.mark.long
@pytest.mark.parametrize("op", ["add", "conv2d", "depthwise_conv2d", "global_avg_pool", "matmul"])
@settings(max_examples=6)
@given(data=st.data())
def test_generated_structures_equal_numpy(op, data):
    check_generated(op, data)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["add", "conv2d", "depthwise_conv2d", "global_avg_pool", "matmul"])
@settings(max_examples=500)
@given(data=st.data())
def test_generated_structures_equal_numpy_at_length(op, data):
    check_generated(op, data)


@pytest.mark.parametrize(
    "operator", [op for op in SMALL if op.op != "max_pool2d"], ids=lambda operator: operator.name
)
def test_structures_scheduled_together_are_those_scheduled_alone(operator):
    config = preset("gemmini-16x16")
    start = Schedule(operator.kernel().prim_func(config))
    structures = for_loops(start, mac_structures(mac_loops(start)), config)
    schedules, traces = scheduled_mac(start, structures), mac_traces(start, structures)
    for structure, together, trace in zip(structures, schedules, traces, strict=True):
        alone = start.copy()
        schedule_mac(alone, structure)
        steps, _ = alone.trace.as_json()
        assert str(together.trace.as_json()[0]) == str(steps)
        assert str(trace.as_json()[0]) == str(steps)
