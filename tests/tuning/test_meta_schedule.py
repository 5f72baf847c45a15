"""TVM's own tuning with our target, space, builder and runner."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import tiny_network
import tvm
from kernel_runs import check_schedule
from tvm import relax
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target.build import compile_network
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.host import build_host, run_host
from npu_target.models.registry import get_model
from npu_target.quantize import quantize
from npu_target.target import make_target
from npu_target.topi import Conv2d, Matmul
from npu_target.topi.definition import operator_in
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.fits_device import FitsDevice
from npu_target.tuning.meta_schedule import (
    measured_on,
    tunable_network,
    with_defaults,
    workload_space,
)
from npu_target.tuning.tune_context import NpuTuneContext
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-16x16")
TARGET = make_target(CONFIG)
OPERATOR = Conv2d(1, 8, 8, 16, 16, 3, 3, (1, 1), (1, 1, 1, 1), True, True, 0.01)


def strategy() -> ms.SearchStrategy:
    return ms.search_strategy.EvolutionarySearch(
        population_size=16, genetic_num_iters=1, init_min_unmeasured=4
    )


@pytest.fixture(scope="module")
def quantized() -> tvm.ir.IRModule:
    tiny_network.register()
    model = get_model("tiny", None, 0)
    return quantize(model.mod, model.calibration_inputs(1, 0)).mod


@pytest.mark.long
@pytest.mark.rpc
def test_tune_tir_measures_and_its_records_build(tmp_path):
    operator = OPERATOR.canonical()
    mod = workload_module(operator, CONFIG)
    with measured_on(CONFIG, servers=1) as (builder, runner):
        database = ms.tune_tir(
            mod,
            TARGET,
            str(tmp_path),
            16,
            num_trials_per_iter=8,
            builder=builder,
            runner=runner,
            space=workload_space(CONFIG),
            strategy=strategy(),
            seed=1,
        )
    again = ms.database.JSONDatabase(work_dir=str(tmp_path))
    assert len(again) == len(database) == 16
    record = database.query_tuning_record(mod, TARGET, "main")
    schedule = ms.tir_integration.compile_tir(database, mod, TARGET)
    cycles = cycles_of(build_program(schedule.mod["main"], CONFIG, operator.name))
    assert cycles == round(float(record.run_secs[0]) * CONFIG.clock_khz * 1e3)
    check_schedule(operator, schedule, CONFIG, 1)


@pytest.mark.rpc
@pytest.mark.slow
def test_tune_relax_tunes_a_network(tmp_path, quantized):
    partitioned = tunable_network(quantized, CONFIG)
    with measured_on(CONFIG, servers=1) as (builder, runner):
        database = ms.relax_integration.tune_relax(
            partitioned.mod,
            {},
            TARGET,
            str(tmp_path),
            4 * len(partitioned.regions),
            num_trials_per_iter=4,
            builder=builder,
            runner=runner,
            space=workload_space(CONFIG, "template"),
            strategy=strategy(),
            cost_model="random",
            seed=1,
        )
    with TARGET, database:
        tuned = relax.transform.MetaScheduleApplyDatabase()(partitioned.mod)
    kernels = [func for func in tuned.functions.values() if isinstance(func, tvm.tirx.PrimFunc)]
    assert all(func.attrs.get("tirx.is_scheduled") for func in kernels) and kernels
    check_network(quantized, tuned)


def check_network(quantized: tvm.ir.IRModule, mod: tvm.ir.IRModule) -> None:
    image = get_model("tiny", None, 0).calibration_inputs(1, 3)[0]
    wanted = run_host(build_host(quantized), image)[0]
    found = run_host(compile_network(with_defaults(mod, CONFIG)), image)[0]
    np.testing.assert_array_equal(found, wanted)


def test_kernels_without_a_record_get_their_defaults(quantized):
    partitioned = tunable_network(quantized, CONFIG)
    names = [region.name for region in partitioned.regions]
    operators = [operator_in(partitioned.mod[name]) for name in names]
    assert operators == [region.operator.kernel() for region in partitioned.regions]
    check_network(quantized, partitioned.mod)


def test_tasks_of_a_network_are_its_kernels(quantized):
    partitioned = tunable_network(quantized, CONFIG)
    tasks = ms.relax_integration.extract_tasks(partitioned.mod, TARGET)
    assert {task.task_name for task in tasks} == {region.name for region in partitioned.regions}


def test_what_has_no_room_is_rejected():
    operator = Matmul(1, 2048, 2048, 2048).canonical()
    mod = workload_module(operator, CONFIG)
    fits = FitsDevice(CONFIG, "template")
    context = NpuTuneContext(
        mod,
        TARGET,
        workload_space(CONFIG, "template"),
        ms.search_strategy.ReplayTrace(),
        operator.name,
        num_threads=1,
        rand_state=1,
        logger=logging.getLogger(__name__),
    )
    fits._initialize_with_tune_context(context)
    (design, *_) = context.generate_design_space()
    trace = design.trace
    tiles = [inst for inst in trace.insts if inst.kind.name == "SamplePerfectTile"]
    for inner, is_accepted in ((1, True), (None, False)):
        decided = trace
        for tile in tiles:
            extent = int(np.prod([int(factor) for factor in trace.decisions[tile]]))
            size = inner or extent
            decided = decided.with_decision(tile, [extent // size, size], remove_postproc=True)
        schedule = Schedule(mod)
        decided.apply_to_schedule(schedule, remove_postproc=True)
        assert fits.clone().apply(schedule) is is_accepted


def test_a_module_that_names_no_operator_has_no_space():
    mod = tvm.IRModule({"main": OPERATOR.prim_func(CONFIG)})
    with pytest.raises(ValueError, match=r"has no attribute npu\.operator"):
        workload_space(CONFIG).generate_design_space(mod)
