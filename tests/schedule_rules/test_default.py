"""Default schedules: every size of every operator compiles, and computes what NumPy does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from operator_strategies import devices, operators

from npu_target import topi
from npu_target.device import preset
from npu_target.schedule_rules import default_schedule

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


def test_steps_without_a_loop():
    """So few that none is left: a store must not come between a preload and its compute."""
    config = preset("gemmini-32x32")
    operator = topi.Matmul(1, 61, 1, 1, bias=False, scale=1.0)
    check_schedule(operator, default_schedule(operator.kernel(), config), config, 0)


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=300)
@given(data=st.data())
def test_equals_numpy_at_length(op, data):
    check_default(op, data)
