"""No program of ours relies on loads that overtake each other, whatever is computed how."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import kernel_schedule
from load_races import unordered_loads
from operator_strategies import devices, operators

from npu_target import topi
from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import ConfigLd, ConfigSt, LocalAddress, Mvin, Mvout
from npu_target.program import Arg, Operand, Program, device_command
from npu_target.schedule_rules import SPACES, default_schedule, designs

CONFIG = GemminiConfig()
# The reference of a program takes as long as it has commands.
MOST_MACS = 2_000_000


def check_default(op: str, data: st.DataObject) -> None:
    config = data.draw(devices, "device")
    operator = data.draw(operators(config)[op].filter(lambda o: o.macs <= MOST_MACS), "operator")
    schedule = default_schedule(operator.kernel(), config)
    assert not unordered_loads(build_program(schedule.mod["main"], config, operator.name))


def check_drawn(op: str, data: st.DataObject) -> None:
    config = data.draw(devices, "device")
    operator = data.draw(operators(config)[op].filter(lambda o: o.macs <= MOST_MACS), "operator")
    start = kernel_schedule(operator, config, data.draw(st.integers(1, 2**31 - 1), "seed"))
    space = data.draw(st.sampled_from(SPACES), "space")
    design = data.draw(
        st.sampled_from(designs(start, operator.kernel(), config, space)), "structure"
    )
    try:
        program = build_program(design.schedule.mod["main"], config, operator.name)
    except DoesNotFit:
        return
    assert not unordered_loads(program)


@pytest.mark.long
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_defaults(op, data):
    check_default(op, data)


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_defaults_at_length(op, data):
    check_default(op, data)


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(topi.operators()))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_space_at_length(op, data):
    check_drawn(op, data)


def load(row: int, accumulate: bool = False, rows: int = 4):
    local = LocalAddress.acc(row, accumulate=accumulate)
    return device_command(Mvin, dram_address=Operand.argument(0), local=local, cols=16, rows=rows)


STORE = device_command(
    Mvout, dram_address=Operand.argument(1), local=LocalAddress.acc(0), cols=16, rows=4
)


@pytest.mark.parametrize(
    ("commands", "n_rows"),
    [
        ([load(0), load(0, accumulate=True), STORE], 4),  # a residual add by loads
        ([load(0), load(3), STORE], 1),
        ([load(0), load(3)], 0),  # nothing reads what may be either
        ([load(0), load(4), STORE], 0),
        ([load(0), STORE, load(0, accumulate=True), STORE], 0),
        # The store waits for the first load, and the second one for the store's first rows.
        ([load(0, rows=6), STORE, load(3, rows=3), load(9), STORE], 0),
    ],
)
def test_what_a_race_is(commands, n_rows):
    settings = [
        device_command(ConfigLd, stride_bytes=16, block_stride=0),
        device_command(ConfigSt, stride_bytes=16),
    ]
    args = Arg("a", "input", "int8", (256,)), Arg("out", "output", "int8", (256,))
    program = Program("loads", CONFIG, args, (*settings, *commands))
    assert len(unordered_loads(program)) == n_rows
