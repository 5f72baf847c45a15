"""MetaSchedule's evolutionary search in our tuning loop, with its own cost model.

It proposes and learns; compiling, measuring and logs are as for the search over points.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Trace

from ..device import DeviceConfig
from ..schedule_rules import space_generator
from ..schedule_rules.traces import trace_json
from ..target import make_target
from ..topi import Operator
from .candidate import Candidate
from .compiling import Compiled
from .failure import Failure
from .fits_device import FitsDevice
from .layer_search import BATCH, SEEDS, Compile
from .layers import Layer
from .tune_context import NpuTuneContext
from .workload import workload_module

# TVM's defaults are for measurements that take seconds: 512 schedules, whose traces take
# milliseconds each, in every one of 4 generations.
_POPULATION = 64
_GENERATIONS = 2
_LEAST_UNMEASURED = 4  # a small space has no more
_MOST_TRIALS = 1 << 30
_LEAST_SECONDS = 1e-12


class EvolutionaryFactory:
    """Begins searches over layers, each with a cost model of its own."""

    def __init__(self, config: DeviceConfig, space: str, seed: int, compile: Compile) -> None:
        self._config = config
        self._space = space
        self._seed = seed
        self._compile = compile

    def __call__(self, layer: Layer) -> EvolutionarySearch:
        return EvolutionarySearch(
            layer.operator, self._config, self._space, self._seed, self._compile
        )


class EvolutionarySearch:
    """A `LayerSearch`; `operator` is in canonical form."""

    def __init__(
        self, operator: Operator, config: DeviceConfig, space: str, seed: int, compile: Compile
    ) -> None:
        self.rejected: Counter[str] = Counter()
        self._operator = operator
        self._compile = compile
        self._clock_hz = config.clock_khz * 1e3
        self._target = make_target(config)
        mod = workload_module(operator, config)
        self._database = ms.database.MemoryDatabase()
        self._workload = self._database.commit_workload(mod)
        self._arguments = ms.arg_info.ArgInfo.from_entry_func(mod, remove_preproc=True)
        self._cost_model = ms.cost_model.XGBModel(num_tuning_cores=1)
        generator = space_generator(
            operator, config, space, seed + 1, [FitsDevice(config, space)], routes=True
        )
        self._context = NpuTuneContext(
            mod,
            self._target,
            generator,
            ms.search_strategy.EvolutionarySearch(
                population_size=_POPULATION,
                genetic_num_iters=_GENERATIONS,
                init_min_unmeasured=_LEAST_UNMEASURED,
            ),
            operator.name,
            num_threads=1,
            rand_state=seed % SEEDS + 1,
            logger=logging.getLogger(__name__),
        )
        self._context.pre_tuning(
            _MOST_TRIALS,
            BATCH,
            self._context.generate_design_space(),
            self._database,
            self._cost_model,
        )
        # Of the candidates that are not measured yet, what TVM knows them by.
        self._proposed: dict[str, ms.MeasureCandidate] = {}

    def begin_from(self, trace: Any, cycles: float) -> None:
        schedule = Schedule(self._workload.mod)
        Trace.apply_json_to_schedule(trace, schedule)
        self._commit(schedule.trace, cycles)

    def next_batch(
        self, best_cycles: float, size: int = BATCH, later: int = 0
    ) -> list[Candidate] | None:
        proposed = self._context.generate_measure_candidates()
        if not proposed:
            return None
        traces = [trace_json(candidate.sch.trace) for candidate in proposed]
        futures = [self._compile(self._operator, trace) for trace in traces]
        failed: list[ms.MeasureCandidate] = []
        batch: list[Candidate] = []
        for candidate, trace, future in zip(proposed, traces, futures, strict=True):
            compiled = future.result()
            if isinstance(compiled, Failure):
                self.rejected[compiled.kind] += 1
                failed.append(candidate)
            elif compiled.digest in self._proposed or len(batch) == size:
                failed.append(candidate)
            else:
                self._proposed[compiled.digest] = candidate
                batch.append(Candidate(trace, compiled))
        self._tell(failed, [None] * len(failed))
        return batch

    def learn(self, candidates: Sequence[Candidate], results: Sequence[float | None]) -> None:
        told, cycles = [], []
        for candidate, result in zip(candidates, results, strict=True):
            assert isinstance(candidate.compiled, Compiled)
            known = self._proposed.get(candidate.compiled.digest)
            if known is not None:
                told.append(known)
                cycles.append(result)
                if result is not None:
                    self._commit(known.sch.trace, result)
        self._tell(told, cycles)

    def _tell(
        self, candidates: Sequence[ms.MeasureCandidate], cycles: Sequence[float | None]
    ) -> None:
        if not candidates:
            return
        results = [
            ms.runner.RunnerResult(None, "failed")
            if result is None
            else ms.runner.RunnerResult([result / self._clock_hz], None)
            for result in cycles
        ]
        self._context.notify_runner_results(candidates, results)
        self._cost_model.update(self._context, candidates, results)

    def _commit(self, trace: Any, cycles: float) -> None:
        seconds = max(cycles / self._clock_hz, _LEAST_SECONDS)
        record = ms.database.TuningRecord(
            trace, self._workload, [seconds], self._target, self._arguments
        )
        self._database.commit_tuning_record(record)
