"""Cycles of programs that run one after another on one device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device_api import program_cycles, sequence_cycles
from npu_target.device_api.profile import profile_program
from npu_target.devices.gemmini import GemminiConfig
from npu_target.program import Program
from npu_target.schedule_rules import default_schedule

# A host whose code costs nothing to fetch: between two runs only the device's caches differ.
CONFIG = GemminiConfig(host_icache_miss_cycles=0, host_icache_l2_cycles=0)
OPERATORS = [
    topi.Conv2d(1, 9, 9, 20, 24, 3, 3, (1, 1), (1, 1, 1, 1)),
    topi.Add(49, 64, CONFIG.dim),
    topi.Matmul(1, 20, 40, 24),
]
FAR = 1 << 30


def program_of(operator: topi.Operator, config: GemminiConfig = CONFIG) -> Program:
    schedule = default_schedule(operator, config)
    return build_program(schedule.mod["main"], config, operator.name)


PROGRAMS = [program_of(operator) for operator in OPERATORS]


def addresses(program: Program, base: int) -> list[int]:
    """Arguments beside each other, whole lines each."""
    places = []
    for arg in program.args:
        places.append(base)
        nbytes = int(np.prod(arg.shape)) * np.dtype(arg.dtype).itemsize
        base += -(-nbytes // 64) * 64
    return places


@given(st.lists(st.sampled_from(range(len(PROGRAMS))), max_size=6))
def test_the_first_finds_cold_caches_and_none_gets_slower_for_warm_ones(order: list[int]) -> None:
    programs = [PROGRAMS[number] for number in order]
    places = [addresses(PROGRAMS[number], (number + 1) * FAR) for number in order]
    found = sequence_cycles([program.to_bytes() for program in programs], places)
    first: dict[int, int] = {}
    for number, cycles in zip(order, found, strict=True):
        assert cycles <= first.setdefault(number, cycles)
    if order:
        (alone,) = sequence_cycles([programs[0].to_bytes()], places[:1])
        assert found[0] == alone


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_equals_a_program_that_is_repeated(program: Program) -> None:
    tensors = [tvm.runtime.tensor(np.zeros(arg.shape, arg.dtype)) for arg in program.args]
    repeated = profile_program(program.to_bytes(), tensors, repeats=3)
    found = sequence_cycles([program.to_bytes()] * 3, [addresses(program, FAR)] * 3)
    assert found[1:] < (found[0], found[0])
    assert found[0] == pytest.approx(repeated[0].cycles, rel=0.02)
    assert found[1:] == pytest.approx([run.cycles for run in repeated[1:]], rel=0.02)


def test_one_alone_takes_what_program_cycles_says() -> None:
    program = PROGRAMS[0].to_bytes()
    (alone,) = sequence_cycles([program], [addresses(PROGRAMS[0], FAR)])
    assert alone == pytest.approx(program_cycles(program), rel=0.02)


def test_wrong_sequences() -> None:
    other = program_of(OPERATORS[1], replace(CONFIG, bus_bytes=8))
    pair = [PROGRAMS[0], other]
    with pytest.raises(RuntimeError, match=r"\[bad_program\].*one device"):
        sequence_cycles(
            [program.to_bytes() for program in pair], [addresses(each, FAR) for each in pair]
        )
    with pytest.raises(RuntimeError, match=r"\[bad_program\]"):
        sequence_cycles([PROGRAMS[0].to_bytes()], [[]])
    with pytest.raises(RuntimeError, match=r"\[bad_program\]"):
        sequence_cycles([PROGRAMS[0].to_bytes()], [])
