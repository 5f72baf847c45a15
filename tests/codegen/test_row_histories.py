"""What the code generator moves, against what it would be unmoved: every row sees the same."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from operator_strategies import operators
from plain_programs import check_same_rows, plain_code
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.codegen_tir import CodegenError, build_program
from npu_target.config import NpuConfig
from npu_target.schedule_rules import default_schedule, space_generator
from npu_target.tuning.workload import workload_module

PRESETS = [NpuConfig.preset(f"gemmini-{side}x{side}") for side in (8, 16, 32)]
SPACES = ["template", "rules", "default"]
CASES = st.sampled_from(PRESETS).flatmap(
    lambda config: st.tuples(
        st.just(config),
        st.sampled_from(sorted(operators(config))).flatmap(operators(config).__getitem__),
        st.sampled_from(SPACES),
        st.integers(0, 99),
        st.integers(1, 99),
    )
)
Case = tuple[NpuConfig, topi.Operator, str, int, int]
# Macs of what is compared: commands are gone through one by one.
_MOST_MACS = 1 << 21


def schedule_of(case: Case) -> Schedule:
    """A schedule of one of the spaces, with random tiles."""
    config, operator, space, index, seed = case
    if space == "default":
        return default_schedule(operator.kernel(), config)
    mod = workload_module(operator, config)
    found = space_generator(operator.canonical(), space).generate_design_space(mod)
    schedule = Schedule(mod, seed=seed)
    found[index % len(found)].trace.apply_to_schedule(schedule, remove_postproc=True)
    return schedule


def check(case: Case) -> None:
    config, operator, *_ = case
    assume(operator.macs <= _MOST_MACS)
    func = schedule_of(case).mod["main"]
    try:
        final = build_program(func, config, operator.name)
    except CodegenError:
        return
    with plain_code():
        plain = build_program(func, config, operator.name)
    check_same_rows(plain, final)


@settings(max_examples=20)
@given(CASES)
def test_every_row_sees_the_same(case: Case) -> None:
    check(case)


@pytest.mark.slow
@settings(max_examples=1000)
@given(CASES)
def test_every_row_of_many_programs(case: Case) -> None:
    check(case)
