"""TVM's search in our loop, with a compiler that takes no time."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from npu_target.device import preset
from npu_target.schedule_rules.traces import trace_json
from npu_target.topi import Matmul
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.evolutionary import EvolutionaryFactory, EvolutionarySearch
from npu_target.tuning.failure import Failure
from npu_target.tuning.layers import Layer
from npu_target.tuning.schedules import default_of

CONFIG = preset("gemmini-16x16")
OPERATOR = Matmul(1, 196, 128, 256).canonical()
NOTHING_KNOWN = float("inf")


def compile_now(operator, trace) -> Future:
    future: Future = Future()
    future.set_result(compile_trace(CompileJob(operator, CONFIG, trace)))
    return future


def search(compile=compile_now, space: str = "template") -> EvolutionarySearch:
    return EvolutionaryFactory(CONFIG, space, 0, compile)(Layer(OPERATOR, 1))


def test_batches_are_of_different_programs_that_fit():
    begun = search()
    known = set()
    for _ in range(2):
        batch = begun.next_batch(NOTHING_KNOWN, 8)
        assert 0 < len(batch) <= 8
        digests = {candidate.digest for candidate in batch}
        assert len(digests) == len(batch) and not digests & known
        known |= digests
        cycles = [float(candidate.compiled.least_cycles) for candidate in batch]
        begun.learn(batch, [*cycles[:-1], None])
    assert not begun.rejected["does_not_fit"]


def test_what_cannot_be_compiled_is_counted_and_not_given_out():
    def compile(operator, trace):
        future: Future = Future()
        future.set_result(Failure("build_error", "no"))
        return future

    begun = search(compile)
    assert begun.next_batch(NOTHING_KNOWN) == []
    assert set(begun.rejected) == {"build_error"} and begun.rejected["build_error"] > 4


def test_a_known_schedule_is_where_it_begins():
    begun = search(space="both")
    begun.begin_from(trace_json(default_of(OPERATOR, CONFIG).trace), 1000.0)
    assert all(isinstance(c.compiled, Compiled) for c in begun.next_batch(NOTHING_KNOWN))
    (record,) = begun._database.get_all_tuning_records()
    assert float(record.run_secs[0]) == pytest.approx(1000 / (CONFIG.clock_khz * 1e3))
