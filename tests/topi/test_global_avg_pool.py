"""The global average: a row of one number times the pixels, which need not be 1."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_runs import run_program
from partition.integer_functions import image_sum, requantize
from relax_functions import function_of
from tvm import relax
from tvm.relax import op

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.host import build_host, run_host
from npu_target.partition import partition
from npu_target.schedule_rules import default_schedule
from npu_target.topi import GlobalAvgPool
from npu_target.tuning.expected import expected_output, sample_inputs

CONFIG = preset("gemmini-16x16")


@pytest.mark.parametrize("factor", [21, -7, 0])
def test_the_row_may_hold_another_number(factor):
    operator = GlobalAvgPool(1, 7, 7, 20, CONFIG.dim, scale=2.0**-9)
    inputs = {**sample_inputs(operator, 0), "ones": np.full(CONFIG.dim, factor, np.int8)}
    program = build_program(default_schedule(operator, CONFIG).mod["main"], CONFIG, "pool")
    found = run_program(program, [inputs["x"], inputs["ones"]])
    sums = factor * inputs["x"].astype(np.int64).sum(axis=1)
    np.testing.assert_array_equal(found, np.clip(np.rint(sums * 2.0**-9), -128, 127))
    np.testing.assert_array_equal(found, expected_output(operator, inputs, NUMBERS))


def partitioned(factor):
    def body(emit, x):
        total = image_sum(emit, x)
        return requantize(emit, emit(op.multiply(total, relax.const(factor))), 2.0**-10)

    mod = function_of([(2, 7, 7, 33)], body, "int8")
    return mod, partition(mod, CONFIG)


def test_a_sum_times_a_number_is_one_operator():
    mod, split = partitioned(np.int32(21))
    assert [region.op for region in split.regions] == ["global_avg_pool"]
    x = np.random.default_rng(0).integers(-128, 128, (2, 7, 7, 33)).astype(np.int8)
    (wanted,), (found,) = (run_host(build_host(each), x) for each in (mod, split.mod))
    assert len(np.unique(wanted)) > 10
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("factor", [np.int32(200), np.arange(33, dtype=np.int32)])
def test_what_is_no_number_of_int8_is_multiplied_on_the_host(factor):
    _, split = partitioned(factor)
    (region,) = split.regions
    assert region.operator.sums and region.inputs == ("x0", "constant:ones")
    reasons = [decision.reason for decision in split.decisions if decision.where == "host"]
    reason = "not together with sum: its sum is multiplied by something else than one number"
    assert any(told.startswith(reason) for told in reasons)
