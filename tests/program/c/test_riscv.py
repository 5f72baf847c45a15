"""Kernels compiled for the device's host: what they issue, how many instructions they run, and how
long their code is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from program_strategies import programs
from riscv_machine import Machine, code_bytes, run_kernel

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api import host_cost
from npu_target.program import Program
from npu_target.schedule_rules import default_schedule

pytestmark = pytest.mark.riscv

CONFIG = preset("gemmini-16x16")
# Layers of ResNet-18, of a kind each.
LAYERS: list[topi.Operator] = [
    topi.Conv2d(n=1, h=h, w=h, ci=ci, co=co, kh=k, kw=k, strides=(s, s), pad=(k // 2,) * 4,
                bias=True, relu=True, scale=0.01)
    for h, ci, co, k, s in [
        (56, 64, 64, 3, 1), (56, 64, 128, 3, 2), (28, 128, 256, 1, 2), (14, 256, 256, 3, 1),
        (7, 512, 512, 3, 1),
    ]
]  # fmt: skip
LAYERS.append(topi.Matmul(batch=1, m=1, k=512, n=1000, bias=True, scale=0.01))
# Others, of other models.
SMALL_LAYERS: list[topi.Operator] = [
    topi.Conv2d(n=1, h=14, w=14, ci=64, co=384, kh=1, kw=1, strides=(1, 1), pad=(0,) * 4,
                bias=True, relu=True, scale=0.01),
    topi.DepthwiseConv2d(n=1, h=14, w=14, c=384, kh=3, kw=3, dim=CONFIG.dim, pad=(1,) * 4,
                         relu=True, scale=0.01),
    topi.Add(rows=196, cols=256, dim=CONFIG.dim, relu=True, scale=0.01),
    topi.GlobalAvgPool(n=1, h=7, w=7, c=512, dim=CONFIG.dim, scale=0.02),
    topi.Matmul(batch=1, m=64, k=64, n=64, bias=False, scale=0.01),
]  # fmt: skip


def default_program(layer: topi.Operator) -> Program:
    schedule = default_schedule(layer.kernel(), CONFIG)
    return build_program(schedule.mod["main"], CONFIG, layer.name)


def run(program: Program) -> Machine:
    addresses = {arg.name: 0x80010000 + (index << 24) for index, arg in enumerate(program.args)}
    with tempfile.TemporaryDirectory() as folder:
        machine = run_kernel(program, addresses, Path(folder))
    assert machine.commands == program.expand(addresses)
    return machine


@given(programs())
@settings(max_examples=20, deadline=None)
def test_random_programs(program: Program) -> None:
    run(program)


def test_instructions_are_those_the_simulator_charges() -> None:
    charged, found = {}, {}
    for layer in LAYERS:
        program = default_program(layer)
        charged[layer.name] = host_cost(program.to_bytes()).instructions
        found[layer.name] = run(program).instructions
    assert sum(found.values()) == pytest.approx(sum(charged.values()), rel=0.05)
    # A layer by itself: what gcc keeps in memory and which conditions it joins is not modelled.
    assert found == pytest.approx(charged, rel=0.1)


def test_code_is_as_long_as_the_simulator_has_it(tmp_path: Path) -> None:
    charged, found = {}, {}
    for layer in [*LAYERS, *SMALL_LAYERS]:
        program = default_program(layer)
        cost = host_cost(program.to_bytes())
        charged[layer.name] = cost.loop_bytes + cost.once_bytes
        found[layer.name] = code_bytes(program, tmp_path)
    assert sum(found.values()) == pytest.approx(sum(charged.values()), rel=0.05)
    assert found == pytest.approx(charged, rel=0.1)
