"""Templates: with tiles drawn at random they compute what NumPy does, or do not fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule, kernel_schedule
from operator_strategies import devices, operators
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.codegen_tir import DoesNotFit
from npu_target.devices.gemmini import GemminiConfig

seeds = st.integers(1, 2**31 - 1)


def check_template(op: str, data: st.DataObject) -> None:
    config = data.draw(devices, "device")
    operator = data.draw(operators(config)[op], "operator")
    template = data.draw(st.sampled_from(operator.kernel().templates(config)), "template")
    schedule = kernel_schedule(operator, config, data.draw(seeds, "seed of the tiles"))
    template(schedule)
    try:
        check_schedule(operator, schedule, config, data.draw(seeds, "seed of the values"))
    except DoesNotFit as error:
        assert operator.name in str(error)


@pytest.mark.long
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=6)
@given(data=st.data())
def test_equals_numpy_or_does_not_fit(op, data):
    check_template(op, data)


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=300)
@given(data=st.data())
def test_equals_numpy_or_does_not_fit_at_length(op, data):
    check_template(op, data)


def tiled_loops(schedule: Schedule) -> int:
    return sum(inst.kind.name == "SamplePerfectTile" for inst in schedule.trace.insts)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "splits"), [((3, 3), False), ((8, 8), False), ((11, 11), True), ((1, 65), True)]
)
def test_large_kernels_are_tiled(kernel, splits):
    config = GemminiConfig()
    operator = topi.Conv2d(1, 70, 70, 8, 8, *kernel)  # too many channels for windows
    counts = []
    for template in operator.templates(config):
        schedule = kernel_schedule(operator, config, seed=1)
        template(schedule)
        counts.append(tiled_loops(schedule))
    # Output blocks, lines and steps, and the depth, which some templates split; then the two of
    # the kernel, where it is large and no operand is kept whole.
    assert min(counts) == 3
    assert max(counts) == (6 if splits else 4)
