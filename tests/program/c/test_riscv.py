"""Kernels compiled for the device's host: what they issue, and how many instructions they run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from program_strategies import programs
from riscv_machine import Machine, run_kernel

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
        kernel = layer.kernel()
        program = build_program(default_schedule(kernel, CONFIG).mod["main"], CONFIG, layer.name)
        charged[layer.name] = host_cost(program.to_bytes()).instructions
        found[layer.name] = run(program).instructions
    assert sum(found.values()) == pytest.approx(sum(charged.values()), rel=0.05)
    # A layer by itself: what gcc keeps in memory and which conditions it joins is not modelled.
    assert found == pytest.approx(charged, rel=0.1)
