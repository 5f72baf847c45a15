"""Counting a program's cycles without its values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tvm

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device_api import create_module, last_stats, program_cycles
from npu_target.devices.gemmini import GemminiConfig
from npu_target.program import Program
from npu_target.schedule_rules import default_schedule

OPERATORS = [
    topi.Conv2d(1, 9, 9, 20, 24, 3, 3, (1, 1), (1, 1, 1, 1)),
    topi.Add(49, 64, GemminiConfig().dim),
    topi.MaxPool2d(1, 8, 8, 16, 3, 2),
]


def program_of(operator: topi.Operator) -> Program:
    schedule = default_schedule(operator, GemminiConfig())
    return build_program(schedule.mod["main"], GemminiConfig(), operator.name)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.op)
def test_equals_a_launch(operator):
    program = program_of(operator)
    tensors = [tvm.runtime.tensor(np.zeros(arg.shape, arg.dtype)) for arg in program.args]
    create_module({"main": program.to_bytes()})["main"](*tensors)
    assert program_cycles(program.to_bytes()) == last_stats().cycles


def test_stops_past_a_limit():
    program = program_of(OPERATORS[0]).to_bytes()
    cycles = program_cycles(program)
    assert program_cycles(program, cycles) == cycles
    assert program_cycles(program, cycles - 1) is None


def test_a_malformed_program_is_an_error():
    with pytest.raises(RuntimeError, match=r"\[bad_program\]"):
        program_cycles(b"no program")


def test_on_another_device_than_it_was_made_for():
    """As if it had been made for that one; its own host counts, too."""
    program = program_of(OPERATORS[0])
    slow = GemminiConfig(
        name="slow", l2_hit_latency_cycles=40, dram_banks=0, host_cycles_per_instruction=3
    )
    made_for_it = replace(program, config=slow)
    cycles = program_cycles(program.to_bytes(), device=slow)
    assert cycles == program_cycles(made_for_it.to_bytes()) != program_cycles(program.to_bytes())
