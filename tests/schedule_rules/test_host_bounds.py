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
    keeps_host_bounds,
    may_outrank,
    ranked,
    ranked_cycles,
)
from npu_target.topi import Matmul

CONFIG = preset("gemmini-16x16")


def cost(instructions=300, commands=100, loop_bytes=12 * 1024, once_cycles=300) -> HostCost:
    return HostCost(instructions, commands, loop_bytes, 0, once_cycles)


@pytest.mark.parametrize(
    ("more", "keeps"),
    [
        ({}, True),
        ({"instructions": 301}, False),
        ({"loop_bytes": 12 * 1024 + 1}, False),
        ({"once_cycles": 301}, False),
    ],
)
def test_each_bound_is_reached_and_not_passed(more, keeps):
    assert keeps_host_bounds(cost(**more), 10_000) is keeps


def program(size: int) -> bytes:
    matmul = Matmul(1, size, size, size)
    func = default_schedule(matmul, CONFIG).mod["main"]
    return build_program(func, CONFIG, matmul.name).to_bytes()


@pytest.mark.parametrize(("size", "keeps"), [(16, False), (256, True)])
def test_a_program_over_a_bound_counts_for_more_than_its_cycles(size, keeps):
    data = program(size)
    cycles = program_cycles(data)
    assert keeps_host_bounds(host_cost(data), cycles) is keeps
    assert ranked_cycles(data) == ranked(cycles, host_cost(data)) == cycles * (1 if keeps else 1.01)


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_what_is_much_slower_cannot_come_first(cycles, fewer):
    assert may_outrank(cycles, fewer) == (cycles <= fewer * 1.01)
