"""The search with a compiler and a device that take no time."""

from __future__ import annotations

import logging
import random
from concurrent.futures import Future

import numpy as np
import pytest
from tuning.test_tuner import NO_HOST

from npu_target.device import preset
from npu_target.schedule_rules.traces import trace_json
from npu_target.topi import Conv2d, Matmul
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.cost_model import CostModel
from npu_target.tuning.failure import Failure
from npu_target.tuning.layer_search import BATCH
from npu_target.tuning.layers import Layer
from npu_target.tuning.schedules import default_of
from npu_target.tuning.search import PRUNED, SearchFactory, logged_to, point_space

CONFIG = preset("gemmini-16x16")
OPERATOR = Matmul(1, 40, 64, 48).canonical()
LAYER = Layer(OPERATOR, 1)
NOTHING_KNOWN = float("inf")


def compile_now(operator, trace) -> Future:
    future: Future = Future()
    future.set_result(compile_trace(CompileJob(operator, CONFIG, trace)))
    return future


def factory(seed: int = 1, compile=compile_now) -> SearchFactory:
    return SearchFactory(CONFIG, "both", seed, compile)


@pytest.fixture(scope="module")
def some_compiled() -> list[Compiled]:
    search = factory()(LAYER)
    return [c.compiled for _ in range(4) for c in search.next_batch(NOTHING_KNOWN)]


def test_a_batch_is_of_different_programs(some_compiled):
    assert len(some_compiled) > BATCH
    assert len({compiled.digest for compiled in some_compiled}) == len(some_compiled)


def test_equal_seeds_search_alike():
    def digests(seed: int) -> list[str]:
        return [candidate.digest for candidate in factory(seed)(LAYER).next_batch(NOTHING_KNOWN)]

    assert digests(1) == digests(1) != digests(2)


def test_the_traces_of_candidates_are_what_they_compile_to():
    for candidate in factory()(LAYER).next_batch(NOTHING_KNOWN)[:4]:
        again = compile_trace(CompileJob(OPERATOR, CONFIG, candidate.trace))
        assert again.digest == candidate.digest and again.program == candidate.compiled.program


@pytest.mark.long
def test_what_cannot_be_faster_than_the_best_is_pruned(some_compiled):
    bounds = sorted(compiled.least_cycles for compiled in some_compiled)
    middle = bounds[len(bounds) // 2]
    search = factory()(LAYER)
    for _ in range(6):
        for candidate in search.next_batch(middle) or ():  # None: all of the space was seen
            assert candidate.compiled.least_cycles < middle
    assert search.rejected[PRUNED] > 0


def test_a_space_is_given_out_once_and_ends():
    compiled = []

    def compile(operator, trace):
        compiled.append(str(trace))
        return compile_played(trace)

    search = factory(compile=compile)(LAYER)
    while (batch := search.next_batch(NOTHING_KNOWN)) is not None:
        search.learn(batch, [1000.0] * len(batch))
    space = point_space(OPERATOR, CONFIG, "both", 1, random.Random(1))
    programs = {space.program(point) for point in space._all() if space.is_open(point)}
    assert len(compiled) == len(set(compiled)) == len(programs) > BATCH


def test_nothing_is_compiled_that_no_batch_has_room_for():
    compiled = []

    def compile(operator, trace):
        compiled.append(trace)
        return compile_played(trace)

    trials = 5 * BATCH
    search = factory(compile=compile)(Layer(Matmul(1, 256, 1024, 1024).canonical(), 1))
    for done in range(0, trials, BATCH):
        batch = search.next_batch(NOTHING_KNOWN, BATCH, trials - done - BATCH)
        assert len(batch) == BATCH
        search.learn(batch, [1000.0] * BATCH)
    assert len(compiled) == trials


def compile_played(trace) -> Future:
    """A program for every trace, with a bound and a time that its tile sizes give."""
    future: Future = Future()
    tiles = [decision[1] for _, decision in trace[1]]
    features = np.array([*np.log2(tiles), *[0.0] * 8][:8])
    cost = 1000 + 100 * int(sum((feature - 2) ** 2 for feature in features[: len(tiles)]))
    future.set_result(Compiled(str(cost).encode(), str(hash(str(trace))), 900, features, NO_HOST))
    return future


def test_learning_leads_to_better_candidates_than_drawing():
    operator = Matmul(1, 256, 1024, 1024).canonical()

    def mean_cost(learns: bool, seed: int) -> float:
        """Of the last of six batches."""
        search = factory(seed, lambda operator, trace: compile_played(trace))(Layer(operator, 1))
        for _ in range(6):
            batch = search.next_batch(NOTHING_KNOWN)
            costs = [float(candidate.compiled.program) for candidate in batch]
            if learns:
                search.learn(batch, costs)
        return float(np.mean(costs))

    for seed in range(2):
        assert mean_cost(True, seed) < 0.9 * mean_cost(False, seed)


@pytest.mark.parametrize("rows", [256, 1024])
def test_a_known_schedule_is_not_compiled_again_but_its_neighbours_are(rows):
    operator = Matmul(1, rows, 1024, 1024).canonical()
    trace = trace_json(default_of(operator, CONFIG).trace)
    compiled = []

    def compile(operator, trace):
        compiled.append(trace)
        return compile_played(trace)

    search = factory(compile=compile)(Layer(operator, 1))
    search.begin_from(trace, 10.0)
    search.begin_from([[], []], 5.0)  # of another space
    search.next_batch(NOTHING_KNOWN)
    assert trace not in compiled
    tiles = [decision[1] for _, decision in trace[1]]
    near = [
        other
        for other in compiled
        if len(other[1]) == len(tiles)
        and sum(a != d[1] for a, (_, d) in zip(tiles, other[1], strict=True)) <= 1
    ]
    assert len(near) > len(compiled) // 3


def test_structures_are_told_once(some_compiled):
    both, rules = (
        point_space(OPERATOR, CONFIG, space, 1, random.Random(1)).structures
        for space in ("both", "rules")
    )
    assert len({str(structure.instructions) for structure in both}) == len(both) >= len(rules)


def test_what_cannot_be_compiled_is_counted_by_kind():
    def compile(operator, trace):
        future: Future = Future()
        future.set_result(Failure("does_not_fit", "too large"))
        return future

    search = factory(compile=compile)(LAYER)
    assert search.next_batch(NOTHING_KNOWN) == []
    assert set(search.rejected) <= {"does_not_fit", PRUNED} and search.rejected["does_not_fit"]


def test_the_model_learns_the_order_of_programs(some_compiled):
    model = CostModel(0)
    cycles = [compiled.least_cycles * (1 + compiled.features.sum()) for compiled in some_compiled]
    half = len(some_compiled) // 2
    for compiled, time in zip(some_compiled[:half], cycles[:half], strict=True):
        model.learn(compiled, time)
    predicted = model.predict(some_compiled[half:])
    ranks = [np.argsort(np.argsort(values)) for values in (predicted, cycles[half:])]
    assert np.corrcoef(*ranks)[0, 1] > 0.5


def test_the_model_takes_failures_for_slow(some_compiled):
    model = CostModel(0)
    for index, compiled in enumerate(some_compiled):
        model.learn(compiled, None if index % 2 else 1.1 * compiled.least_cycles)
    ratio = model.predict(some_compiled) / [c.least_cycles for c in some_compiled]
    assert ratio[1::2].mean() > ratio[0::2].mean()


def test_before_it_knows_anything_the_model_says_the_bound(some_compiled):
    bounds = [compiled.least_cycles for compiled in some_compiled]
    assert list(CostModel(0).predict(some_compiled)) == bounds
    assert len(CostModel(0).predict([])) == 0


def test_features_tell_schedules_apart(some_compiled):
    assert len({compiled.features.shape for compiled in some_compiled}) == 1
    rows = {compiled.features.tobytes() for compiled in some_compiled}
    assert len(rows) > len(some_compiled) // 2
    assert all(np.isfinite(compiled.features).all() for compiled in some_compiled)


def test_a_compiled_trace_says_the_cycles_it_takes_at_least(some_compiled):
    from npu_target.program import Program

    for compiled in some_compiled[:8]:
        assert compiled.least_cycles <= cycles_of(Program.from_bytes(compiled.program))


def test_a_trace_of_another_workload_does_not_apply():
    trace = trace_json(default_of(OPERATOR, CONFIG).trace)
    other = Conv2d(1, 8, 8, 16, 16, 3, 3, (1, 1), (1, 1, 1, 1)).canonical()
    result = compile_trace(CompileJob(other, CONFIG, [[*trace[0][:-3], ["Nothing"]], trace[1]]))
    assert isinstance(result, Failure) and result.kind == "does_not_apply"


def test_loggers_are_given_back(tmp_path):
    logger = logging.getLogger("tvm.s_tir.meta_schedule")
    before = (list(logger.handlers), logger.level, logger.propagate)
    with logged_to(tmp_path / "run.log"):
        logger.info("what TVM says")
    assert (logger.handlers, logger.level, logger.propagate) == before
    assert "what TVM says" in (tmp_path / "run.log").read_text(encoding="utf-8")
