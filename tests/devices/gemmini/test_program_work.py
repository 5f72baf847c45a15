"""What is told of a program without running it, against its command stream and the simulator."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_strategies import devices, operators
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.device import preset
from npu_target.device_api import expand_program
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import COMMANDS, GARBAGE, Preload
from npu_target.devices.gemmini.program_work import COUNTS, ProgramWork
from npu_target.program.addresses import default_addresses
from npu_target.schedule_rules import default_schedule, space_generator
from npu_target.target import make_target
from npu_target.topi import Add, Conv2d, Matmul, Operator
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.tune_context import NpuTuneContext
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-16x16")


@pytest.mark.parametrize(
    "operator",
    [
        Matmul(1, 64, 128, 64),
        Conv2d(1, 16, 16, 32, 32, 3, 3, (1, 1), (1, 1, 1, 1)),
        Add(64, 64, 16),
        Matmul(1, 64, 128, 64, sums=True),
        Conv2d(1, 16, 16, 32, 32, 3, 3, (1, 1), (1, 1, 1, 1), pad_value=-7),
    ],
    ids=lambda operator: operator.name,
)
def test_the_counts_are_those_of_the_expanded_stream(operator):
    program = build_program(default_schedule(operator, CONFIG).mod["main"], CONFIG, operator.name)
    stream = expand_program(program.to_bytes(), list(default_addresses(program).values()))
    words = np.frombuffer(stream, "<u8").reshape(-1, 3)
    commands = [COMMANDS.decode(*map(int, triple)) for triple in words]
    kinds = [type(command).__name__ for command in commands]
    counts = ProgramWork.of(program, operator).likely
    # Boundary tiles may or may not run: the count takes them as run once.
    assert counts["commands"] == pytest.approx(len(commands), rel=0.1)
    assert counts["computes"] == pytest.approx(sum(k.startswith("Compute") for k in kinds), rel=0.1)
    changes = [c for c in commands if isinstance(c, Preload) and c.bd != GARBAGE]
    assert counts["weight_changes"] == pytest.approx(len(changes), rel=0.1)
    assert counts["configurations"] == sum(kind.startswith("Config") for kind in kinds)
    loads = [c for c, kind in zip(commands, kinds, strict=True) if kind.startswith("Mvin")]
    assert counts["loads"] == pytest.approx(len(loads), rel=0.1)
    assert counts["zero_loads"] == pytest.approx(sum(c.dram_address == 0 for c in loads), rel=0.1)
    assert counts["loaded_rows"] == pytest.approx(sum(c.rows for c in loads), rel=0.1)
    loaded = sum(
        c.rows * c.cols * (4 if c.local.accumulator else 1) for c in loads if c.dram_address
    )
    assert counts["loaded_bytes"] == pytest.approx(loaded, rel=0.1)
    stores = [c for c, kind in zip(commands, kinds, strict=True) if kind == "Mvout"]
    stored = sum(c.rows * c.cols * (4 if c.local.full_width else 1) for c in stores)
    assert counts["stored_bytes"] == pytest.approx(stored, rel=0.1)
    assert set(counts) <= set(COUNTS)


def drawn_schedules(
    operator: Operator, config: GemminiConfig, space: str, seed: int
) -> list[Schedule]:
    """One schedule a structure of the space, with tiles drawn once."""
    context = NpuTuneContext(
        workload_module(operator, config),
        make_target(config),
        space_generator(operator.canonical(), config, space),
        ms.search_strategy.ReplayTrace(),
        operator.name,
        num_threads=1,
        rand_state=seed,
        logger=logging.getLogger(__name__),
    )
    return list(context.generate_design_space())


def check_bounds(
    operator: Operator, config: GemminiConfig, schedules: list[Schedule]
) -> list[float]:
    """The share of its simulated cycles that each schedule's bound is."""
    tightness = []
    for schedule in schedules:
        try:
            program = build_program(schedule.mod["main"], config, operator.name)
        except DoesNotFit:
            continue
        cycles = cycles_of(program)
        least = ProgramWork.of(program, operator.canonical()).least_cycles
        assert 0 < least <= cycles, schedule.trace
        tightness.append(least / cycles)
    return tightness


@pytest.mark.long
@settings(max_examples=6)
@given(st.data(), devices, st.integers(1, 2**30))
def test_no_run_is_below_its_bound(data, config, seed):
    operator = data.draw(st.one_of(list(operators(config).values())))
    check_bounds(operator, config, drawn_schedules(operator, config, "template", seed))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data(), devices, st.integers(1, 2**30))
def test_no_run_of_a_generated_schedule_is_below_its_bound(data, config, seed):
    operator = data.draw(st.one_of(list(operators(config).values())))
    check_bounds(operator, config, drawn_schedules(operator, config, "both", seed)[::5])


def test_the_bound_of_a_good_schedule_is_near():
    operator = Conv2d(1, 28, 28, 64, 64, 3, 3, (1, 1), (1, 1, 1, 1), True, True).canonical()
    (share,) = check_bounds(operator, CONFIG, [default_schedule(operator, CONFIG)])
    assert share > 0.7
