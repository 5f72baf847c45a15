"""What the code generator moves, against what it would be unmoved: every row sees the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from operator_strategies import operators
from plain_programs import check_rows
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.codegen_tir import DoesNotFit
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.schedule_rules import default_schedule, space_generator
from npu_target.tuning.workload import workload_module

PRESETS = [preset(f"gemmini-{side}x{side}") for side in (8, 16, 32)]
SPACES = ["template", "rules", "default"]
Case = tuple[GemminiConfig, topi.Operator, str, int, int]
# Macs of what is compared: commands are gone through one by one.
_MOST_MACS = 1 << 21
OPERATORS = sorted(operators(PRESETS[0]))
# Every kind of operator on every device in every space.
ALL = [
    pytest.param(*case, id="-".join([case[0].name, *case[1:]]))
    for case in itertools.product(PRESETS, OPERATORS, SPACES)
]


def cases(config: GemminiConfig, op: str, space: str) -> st.SearchStrategy[Case]:
    """Operators of any size, for structures that `index` counts and tiles that `seed` draws."""
    sizes = operators(config)[op].filter(lambda operator: operator.macs <= _MOST_MACS)
    sizes = sizes.map(lambda operator: operator.canonical())
    return st.tuples(st.just(config), sizes, st.just(space), st.integers(0, 99), st.integers(1, 99))


def schedule_of(case: Case) -> Schedule:
    """A schedule of one of the spaces, with random tiles."""
    config, operator, space, index, seed = case
    if space == "default":
        return default_schedule(operator, config)
    mod = workload_module(operator, config)
    found = space_generator(operator, config, space).generate_design_space(mod)
    schedule = Schedule(mod, seed=seed)
    found[index % len(found)].trace.apply_to_schedule(schedule, remove_postproc=True)
    return schedule


def check(case: Case) -> None:
    """A program computes what NumPy does and does not race; its rows see what plain code does."""
    config, operator, *_, seed = case
    schedule = schedule_of(case)
    try:
        check_schedule(operator, schedule, config, seed)
    except DoesNotFit:
        return
    check_rows(schedule.mod["main"], config)


@pytest.mark.long
@pytest.mark.parametrize(("config", "op", "space"), ALL)
@settings(max_examples=2)  # the first is as small as can be
@given(data=st.data())
def test_every_row_sees_the_same(
    data: st.DataObject, config: GemminiConfig, op: str, space: str
) -> None:
    check(data.draw(cases(config, op, space)))


@pytest.mark.slow
@pytest.mark.parametrize(("config", "op", "space"), ALL)
@settings(max_examples=20)
@given(data=st.data())
def test_every_row_of_many_programs(
    data: st.DataObject, config: GemminiConfig, op: str, space: str
) -> None:
    check(data.draw(cases(config, op, space)))
