"""Step 4: every operator is right at sizes that fit nothing, by its default schedule."""

from __future__ import annotations

import numpy as np
import pytest

from npu_target import topi
from npu_target.codegen_tir import CodegenError, build_program
from npu_target.conformance.operator_examples import operator_examples
from npu_target.conformance.runs import default_program, expected, inputs_of, launched
from npu_target.device import DeviceConfig, DeviceKind
from npu_target.device_api import last_stats, program_cycles
from npu_target.pipeline_options import PIPELINES
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Operator


def test_no_part_of_the_manifest_is_missing(kind: DeviceKind) -> None:
    kind.check()


def test_every_operator_has_its_examples(config: DeviceConfig) -> None:
    problems = operator_examples(config).problems
    assert not problems, "\n".join(problems)


def test_the_default_schedule_computes_what_numpy_does(
    operator: Operator, config: DeviceConfig
) -> None:
    program, mod = default_program(operator, config)
    result = launched(program, inputs_of(operator, config, mod))
    np.testing.assert_array_equal(result, expected(operator, config))
    assert "raw" not in program.text, "commands that are none of the device's"


@pytest.mark.parametrize("pipeline", ["O0", "O1"])
def test_it_does_so_without_optimizations(
    operator: Operator, config: DeviceConfig, pipeline: str
) -> None:
    """Where this fails alone, what makes engines wait for each other relies on their order."""
    mod = default_schedule(operator.kernel(), config).mod
    program = build_program(mod["main"], config, operator.name, options=PIPELINES[pipeline])
    result = launched(program, inputs_of(operator, config, mod))
    np.testing.assert_array_equal(result, expected(operator, config))


def test_a_launch_takes_cycles_that_repeat(simple: Operator, config: DeviceConfig) -> None:
    program, mod = default_program(simple, config)
    launched(program, inputs_of(simple, config, mod))
    stats = last_stats()
    assert stats is not None
    assert stats.cycles > 0
    cold = program_cycles(program.to_bytes())
    assert cold == program_cycles(program.to_bytes()) is not None
    assert program_cycles(program.to_bytes(), max_cycles=1) is None


def test_a_log_gives_the_operator_back(operator: Operator) -> None:
    assert topi.make(operator.op, operator.attrs()) == operator


def test_what_does_not_compile_is_refused_with_a_type(
    simple: Operator, config: DeviceConfig
) -> None:
    """The definition as it is, none of its tiles in a memory of the device."""
    operator = simple.kernel()
    with pytest.raises(CodegenError, match=operator.name):
        build_program(operator.prim_func(config), config, operator.name)


def test_equal_operators_get_equal_schedules(operator: Operator, config: DeviceConfig) -> None:
    kernel = operator.kernel()
    first, second = (default_schedule(kernel, config).mod for _ in range(2))
    assert first.script() == second.script()
