"""Sums that start by being overwritten."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from tvm.s_tir import Schedule

from npu_target import isa, topi
from npu_target.codegen_tir import build_program
from npu_target.config import NpuConfig
from npu_target.program import Command, Program
from npu_target.program_nodes import nodes_of
from npu_target.schedule_rules import default_schedule
from npu_target.topi.mac_schedule import MacStructure, schedule_mac

CONFIG = NpuConfig.preset("gemmini-16x16")
MATMUL = topi.Matmul(1, 64, 96, 96, bias=False)
KEPT = MacStructure(kept=True, two_sums=True)


def program_of(operator: topi.Operator, structure: MacStructure, **tiles: list[int]) -> Program:
    schedule = Schedule(operator.prim_func(CONFIG), seed=1)
    schedule_mac(schedule, structure, tiles)
    return build_program(schedule.mod["main"], CONFIG, "sums")


def commands(program: Program, *kinds: type) -> list[isa.DeviceCommand]:
    found = [node for node in nodes_of(program.body) if isinstance(node, Command)]
    decoded = [isa.decode(node.funct, node.rs1.base, node.rs2.base) for node in found]
    return [command for command in decoded if isinstance(command, kinds)]


def starting_loads(program: Program) -> list[isa.DeviceCommand]:
    return [load for load in commands(program, *isa.LOADS) if load.local.accumulator]


def overwriting_steps(program: Program) -> int:
    return sum(not step.c.accumulate for step in commands(program, isa.Preload))


@pytest.mark.parametrize("order", ["blocks_first", "kernel_first"])
def test_whole_reductions_need_no_zeros(order):
    structure = MacStructure(kept=True, two_sums=True, step_order=order)
    program = program_of(MATMUL, structure, blocks=[2, 3], steps=[4, 1])
    assert not starting_loads(program)
    assert 0 < overwriting_steps(program) < len(commands(program, isa.Preload))


def test_a_single_block_is_overwritten_by_all_steps():
    program = program_of(topi.Matmul(1, 64, 16, 96, bias=False), KEPT, blocks=[2, 3], steps=[4, 1])
    assert not starting_loads(program)
    assert overwriting_steps(program) == len(commands(program, isa.Preload))


def test_a_bias_is_added_to():
    program = program_of(topi.Matmul(1, 64, 96, 96), KEPT, blocks=[2, 3], steps=[4, 1])
    assert starting_loads(program)
    assert not overwriting_steps(program)


def test_parts_of_a_reduction_add_to_zeros():
    structure = MacStructure(split_depth=True)
    tiles = {"blocks": [2, 3], "steps": [2, 2], "depth": [3, 2]}
    program = program_of(MATMUL, structure, **tiles)
    assert starting_loads(program)
    assert not overwriting_steps(program)


@settings(max_examples=12)
@given(
    st.builds(
        topi.Conv2d,
        n=st.just(1),
        h=st.integers(3, 18),
        w=st.integers(3, 18),
        ci=st.integers(1, 40),
        co=st.integers(1, 40),
        kh=st.integers(1, 3),
        kw=st.integers(1, 3),
        strides=st.sampled_from([(1, 1), (2, 2)]),
        bias=st.just(False),
    ),
    st.sampled_from(["gemmini-8x8", "gemmini-16x16", "gemmini-32x32"]),
    st.integers(0, 99),
)
def test_values_are_the_same(operator, preset, seed):
    config = NpuConfig.preset(preset)
    check_schedule(operator, default_schedule(operator.kernel(), config), config, seed)
