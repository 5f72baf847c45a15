"""Searches, the cost model, and the builder and runner in MetaSchedule's own loop."""

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from tvm.s_tir import meta_schedule as ms

from npu_target.codegen_tir import build_program
from npu_target.config import NpuConfig
from npu_target.target import make_target
from npu_target.topi import Conv2d, Matmul
from npu_target.tuning.builder import NpuBuilder
from npu_target.tuning.cost_model import LayerCostModel
from npu_target.tuning.features import features_of
from npu_target.tuning.layers import Layer
from npu_target.tuning.pool import DevicePool
from npu_target.tuning.programs import CompiledPrograms
from npu_target.tuning.runner import NpuRunner
from npu_target.tuning.search import BATCH, SearchFactory, make_context
from npu_target.tuning.workload import operator_of, workload_module
from rpc_server.local import LocalServers

CONFIG = NpuConfig.preset("gemmini-16x16")
OPERATOR = Matmul(1, 40, 64, 48).canonical()


@pytest.fixture
def programs() -> CompiledPrograms:
    return CompiledPrograms()


@pytest.fixture
def search(programs, tmp_path):
    factory = SearchFactory(CONFIG, "both", 1, programs, tmp_path / "run.log")
    return factory(Layer(OPERATOR, 1), ms.database.MemoryDatabase())


def rows_of(search, programs, candidates) -> list[np.ndarray]:
    return [features_of(search.context, c, programs.get(c.sch.mod["main"])) for c in candidates]


def test_a_batch_is_of_different_candidates_that_compile(search, programs):
    seen = set()
    for _ in range(3):
        batch = search.next_batch()
        assert batch is not None and len(batch) <= BATCH
        for candidate in batch:
            func = candidate.sch.mod["main"]
            key = tvm_ffi.structural_hash(func)
            assert key not in seen
            seen.add(key)
            assert operator_of(candidate.sch.mod) == OPERATOR
            program = programs.get(func)
            assert program is not None, "compiled already, when it was checked"
            assert program == build_program(func, CONFIG, OPERATOR.name)
        search.learn(batch, [ms.runner.RunnerResult([1e-5], None) for _ in batch])


def test_metaschedule_says_nothing_on_the_terminal(search, tmp_path, capfd):
    batch = search.next_batch()
    search.learn(batch, [ms.runner.RunnerResult([1e-5], None) for _ in batch])
    captured = capfd.readouterr()
    assert not captured.out and not captured.err
    assert "candidate(s) with evolutionary search" in (tmp_path / "run.log").read_text()


def test_the_model_learns_the_order_of_candidates(search, programs):
    candidates = [c for _ in range(5) for c in search.next_batch()]
    model = LayerCostModel(0, programs)
    context = search.context
    cost = np.array([row.sum() for row in rows_of(search, programs, candidates)])
    half = len(candidates) // 2
    model.update(
        context,
        candidates[:half],
        [ms.runner.RunnerResult([float(seconds)], None) for seconds in cost[:half]],
    )
    scores = model.predict(context, candidates[half:])
    assert ((scores >= 0) & (scores <= 1)).all()
    order = np.corrcoef(np.argsort(np.argsort(scores)), np.argsort(np.argsort(-cost[half:])))
    assert order[0, 1] > 0.5


def test_the_model_takes_failures_for_slow(search, programs):
    candidates = [c for _ in range(3) for c in search.next_batch()]
    model = LayerCostModel(0, programs)
    good = ms.runner.RunnerResult([1e-5], None)
    failed = ms.runner.RunnerResult(None, "[wrong_result] no")
    results = [good if i % 2 else failed for i in range(len(candidates))]
    model.update(search.context, candidates, results)
    scores = model.predict(search.context, candidates)
    assert scores[1::2].mean() > scores[0::2].mean()


def test_before_it_knows_anything_the_model_guesses_by_its_seed(search, programs):
    candidates = search.next_batch()
    first, again, other = (
        LayerCostModel(seed, programs).predict(search.context, candidates) for seed in (1, 1, 2)
    )
    assert (first == again).all() and (first != other).any()


def test_features_tell_schedules_apart(search, programs):
    rows = rows_of(search, programs, search.next_batch())
    assert len({row.shape for row in rows}) == 1
    assert len({row.tobytes() for row in rows}) > len(rows) // 2


def test_contexts_are_tvms_own(programs, tmp_path):
    import logging

    context = make_context(OPERATOR, CONFIG, "template", 0, programs, logging.getLogger("test"))
    assert isinstance(context, ms.TuneContext)
    assert context.task_name == OPERATOR.name and context.num_threads >= 1


@pytest.mark.rpc
def test_metaschedules_own_loop_runs_on_the_same_builder_and_runner(programs, tmp_path):
    operator = Conv2d(1, 8, 8, 16, 16, 3, 3, (1, 1), (1, 1, 1, 1)).canonical()
    import logging

    context = make_context(operator, CONFIG, "both", 1, programs, logging.getLogger("quiet"))
    builder = NpuBuilder(CONFIG, programs)
    with (
        LocalServers(CONFIG, 1, tmp_path) as servers,
        DevicePool(servers.tracker, CONFIG, tmp_path / "output.log") as pool,
    ):
        database = ms.tune.tune_tasks(
            tasks=[context],
            task_weights=[1.0],
            work_dir=str(tmp_path),
            max_trials_global=12,
            num_trials_per_iter=6,
            builder=builder,
            runner=NpuRunner(pool),
            database=ms.database.MemoryDatabase(),
            cost_model=LayerCostModel(0, programs),
        )
    builder.close()
    record = database.query_tuning_record(
        workload_module(operator, CONFIG), make_target(CONFIG), "main"
    )
    assert record is not None and 0 < float(record.run_secs[0]) < 1e-3
