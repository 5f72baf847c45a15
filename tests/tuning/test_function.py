"""Functions of anyone as workloads: measured against what they compute on the host."""

from __future__ import annotations

import numpy as np
import pytest
from hand_written import matmul
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.script import tirx as T

from npu_target.device import kind_of, preset
from npu_target.target import make_target
from npu_target.topi import Matmul
from npu_target.topi.definition import operator_in
from npu_target.tuning.expected import expected_output, sample_inputs
from npu_target.tuning.function import Function
from npu_target.tuning.meta_schedule import function_space, measured_on
from npu_target.tuning.workload import function_workload, measured_by, workload_module

CONFIG = preset("gemmini-8x8")
NUMBERS = kind_of(CONFIG).numbers


def test_a_function_is_its_own_reference():
    function = Function.of(matmul(5, 7, 3))
    assert [(arg.name, arg.role, arg.shape) for arg in function.args] == [
        ("A", "input", (5, 7)),
        ("B", "input", (7, 3)),
        ("C", "output", (5, 3)),
    ]
    inputs = sample_inputs(function, seed=1)
    expected = inputs["A"].astype(np.int32) @ inputs["B"].astype(np.int32)
    np.testing.assert_array_equal(expected_output(function, inputs, NUMBERS), expected)


def test_a_workload_says_what_it_computes():
    mod = function_workload(matmul(5, 7, 3))
    assert measured_by(mod) == Function.of(matmul(5, 7, 3))
    assert operator_in(mod["main"]) is None
    operator = Matmul(1, 5, 7, 3).canonical()
    assert measured_by(workload_module(operator, CONFIG)) == operator


def test_a_scheduled_workload_says_the_same():
    mod = function_workload(matmul(5, 7, 3))
    sch = Schedule(mod)
    sch.split(sch.get_loops(sch.get_sblock("product"))[0], [None, 5])
    assert measured_by(sch.mod) == measured_by(mod)


@T.prim_func(s_tir=True)
def in_float(x: T.Buffer((4, 4), "float32"), y: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]


def test_functions_of_floats_are_refused():
    with pytest.raises(ValueError, match="argument x is float32, needs integers"):
        function_workload(in_float)


@pytest.mark.rpc
@pytest.mark.slow
def test_rules_tune_a_function(tmp_path):
    mod, target = function_workload(matmul(13, 20, 10)), make_target(CONFIG)
    with measured_on(CONFIG, servers=1) as (builder, runner):
        database = ms.tune_tir(
            mod,
            target,
            str(tmp_path),
            4,
            builder=builder,
            runner=runner,
            space=function_space(CONFIG),
            cost_model="random",
            strategy=ms.search_strategy.ReplayTrace(),
            seed=1,
        )
    records = database.get_all_tuning_records()
    assert len(records) == 4
    assert min(float(record.run_secs[0]) for record in records) < 1  # a failure takes for ever
    schedule = ms.tir_integration.compile_tir(database, mod, target)
    assert "npu.gemm" in schedule.mod.script()
