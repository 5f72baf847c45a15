"""The host's bounds, and how programs are compared by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api import HostCost, host_cost, program_cycles
from npu_target.schedule_rules import default_schedule
from npu_target.schedule_rules.host_bounds import (
    may_outrank,
    missed_host_bounds,
    ranked,
    ranked_cycles,
)
from npu_target.topi import Matmul

CONFIG = preset("gemmini-16x16")


def cost(instructions=300, commands=100, loop_bytes=12 * 1024, once_cycles=300) -> HostCost:
    return HostCost(instructions, commands, loop_bytes, 0, once_cycles)


@pytest.mark.parametrize(
    ("more", "missed"),
    [
        ({}, 0),
        ({"instructions": 301}, 1),
        ({"loop_bytes": 12 * 1024 + 1}, 1),
        ({"once_cycles": 301}, 1),
        ({"instructions": 301, "loop_bytes": 12 * 1024 + 1, "once_cycles": 301}, 3),
    ],
)
def test_each_bound_is_reached_and_not_passed(more, missed):
    assert missed_host_bounds(cost(**more), 10_000) == missed
    assert ranked(10_000, cost(**more)) == pytest.approx(10_000 + 100 * missed)


def program(size: int) -> bytes:
    matmul = Matmul(1, size, size, size)
    func = default_schedule(matmul, CONFIG).mod["main"]
    return build_program(func, CONFIG, matmul.name).to_bytes()


@pytest.mark.parametrize("size", [16, 256])
def test_a_program_over_a_bound_counts_for_more_than_its_cycles(size):
    data = program(size)
    cycles = program_cycles(data)
    assert ranked_cycles(data) == ranked(cycles, host_cost(data))
    assert (ranked_cycles(data) > cycles) is (size == 16)


costs = st.builds(
    HostCost,
    st.integers(0, 10**6),
    st.integers(1, 10**6),
    st.integers(0, 10**5),
    st.just(0),
    st.integers(0, 10**6),
)


@given(st.integers(1, 10**6), st.integers(1, 10**6), costs, costs)
def test_what_cannot_come_first_does_not(cycles, fewer, cost, other):
    assert may_outrank(cycles, fewer) or ranked(cycles, cost) > ranked(fewer, other)
