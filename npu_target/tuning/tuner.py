"""The tuning loop: which layer next, build, measure, write down, learn.

MetaSchedule's own loop writes nothing until a whole batch is measured, measures again after a
restart what it has measured before, and knows no bound below which a layer cannot go. This one
drives the same searches, builder, runner and cost model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms

from ..config import NpuConfig
from ..target import make_target
from ..topi import Operator
from .errors import TuningError
from .failure import TRANSIENT, WRONG_RESULT, Failure
from .layers import Layer, least_cycles
from .log import TuningLog, to_plain
from .measuring import Measurer, Running
from .progress import TuningProgress
from .report import DEFAULT, TUNED, LayerResult
from .schedules import default_of
from .search import BATCH, Search
from .workload import workload_module

# Batches in a row without a candidate that was not measured before: the space is used up.
_MOST_EMPTY_BATCHES = 3
# A candidate this much slower than the default schedule need not be run to its end.
_HOPELESS = 20


@dataclass
class LayerState:
    """What is known of a layer in the course of a run. Times are in simulated seconds."""

    layer: Layer
    mod: IRModule
    default_seconds: float = 0.0
    best_seconds: float = 0.0
    trials: int = 0
    batches: list[float] = field(default_factory=list)
    empty_batches: int = 0
    exhausted: bool = False
    search: Search | None = None
    # Digest of every program that was measured, and what came of it.
    known: dict[str, float | Failure] = field(default_factory=dict)


class Tuner:
    """Tunes the layers of a network.

    `make_search` begins the search of a layer, `limit_cycles` ends hopeless runs of its operator
    early. After an interruption `run` returns when the current step is written down.
    """

    def __init__(
        self,
        config: NpuConfig,
        layers: Sequence[Layer],
        log: TuningLog,
        measurer: Measurer,
        limit_cycles: Callable[[Operator, int], None],
        make_search: Callable[[Layer, ms.database.Database], Search],
        progress: TuningProgress,
    ) -> None:
        self._config = config
        self._log = log
        self._measurer = measurer
        self._limit_cycles = limit_cycles
        self._make_search = make_search
        self._progress = progress
        self._target = make_target(config)
        self._database = ms.database.MemoryDatabase()
        self.states = [
            LayerState(layer, workload_module(layer.operator, config)) for layer in layers
        ]
        self._by_name = {state.layer.name: state for state in self.states}
        self._read_journals()

    def run(self, trials: int) -> None:
        """Measure the default schedules and the best known ones, then up to `trials` candidates.

        Raises TuningError when a default schedule cannot be measured.
        """
        self._measure_defaults()
        self._measure_best_known()
        remaining = trials
        while remaining > 0 and not self._measurer.interrupted():
            state = self._next_layer()
            if state is None:
                self._progress.note("every layer's space is used up")
                break
            remaining -= self._one_batch(state, min(BATCH, remaining))

    def results(self) -> list[LayerResult]:
        """What came of it, for the layers whose default schedule was measured."""
        return [
            LayerResult(
                state.layer,
                self._cycles(state.default_seconds),
                self._cycles(state.best_seconds),
                TUNED if state.best_seconds < state.default_seconds else DEFAULT,
                state.trials,
            )
            for state in self.states
            if state.default_seconds
        ]

    def _read_journals(self) -> None:
        for entry in self._log.measurements:
            state = self._by_name.get(entry["task"])
            if state is not None and isinstance(entry.get("cycles"), int):
                state.trials += 1
                state.known[entry["program"]] = entry["cycles"] / (self._config.clock_khz * 1e3)
        for entry in self._log.failures:
            state = self._by_name.get(entry["task"])
            if state is not None and entry["kind"] not in TRANSIENT:
                state.trials += 1
                if entry.get("program"):
                    state.known[entry["program"]] = Failure(entry["kind"], entry["message"])

    def _measure_defaults(self) -> None:
        """All at once. A default schedule that fails is an error: nothing could be compared."""
        self._progress.stage("measuring default schedules")
        mods = [default_of(state.layer.operator, self._config).mod for state in self.states]
        for state, result in zip(self.states, self._measurer.measure_all(mods), strict=True):
            if result.run_secs is None:
                raise TuningError(
                    f"{state.layer.name}: its default schedule cannot be measured: "
                    f"{result.error_msg}"
                )
            state.default_seconds = state.best_seconds = _mean(result)
            limit = _HOPELESS * self._cycles(state.default_seconds)
            self._limit_cycles(state.layer.operator, limit)
        self._show_network()

    def _measure_best_known(self) -> None:
        """Measure anew the best schedule that the logs have of each layer, and seed the search
        with the best few."""
        self._progress.stage("measuring schedules of the logs")
        known: list[tuple[LayerState, float, IRModule]] = []
        for state in self.states:
            lines = self._log.records_of(state.mod)[:BATCH]
            workload = self._database.commit_workload(state.mod)
            for line in lines:
                record = self._log.parse(line)
                self._database.commit_tuning_record(
                    ms.database.TuningRecord(
                        record.trace, workload, record.run_secs, self._target, record.args_info
                    )
                )
            if lines:
                best = self._log.parse(lines[0]).as_measure_candidate()
                known.append((state, lines[0].seconds, best.sch.mod))
        for (state, logged, _), result in zip(
            known, self._measurer.measure_all([mod for _, _, mod in known]), strict=True
        ):
            if result.run_secs is None or self._cycles(_mean(result)) != self._cycles(logged):
                now = result.error_msg or f"{self._cycles(_mean(result))} cycles"
                raise TuningError(
                    f"{self._log.folder} is out of date: for {state.layer.name} it has "
                    f"{self._cycles(logged)} cycles, its schedule now gives {now}; "
                    "tune again into another --logs folder"
                )
            state.best_seconds = min(state.best_seconds, logged)
        self._show_network()

    def _next_layer(self) -> LayerState | None:
        """The layer whose next batch promises most: each one's first, then by what the last
        batches gained and by how far it is from the bound, both times its count."""
        alive = [state for state in self.states if not state.exhausted]
        for state in alive:
            if not state.batches:
                return state
        return max(alive, key=self._promise, default=None)

    def _promise(self, state: LayerState) -> float:
        recent = state.batches[-3:]
        gained = (recent[0] - recent[-1]) / len(recent)
        bound = least_cycles(state.layer.operator, self._config) / (self._config.clock_khz * 1e3)
        room = max(state.best_seconds - bound, 0.0) / len(state.batches)
        return state.layer.count * (0.5 * gained + 0.5 * room)

    def _one_batch(self, state: LayerState, size: int) -> int:
        """Returns how many trials it took."""
        self._progress.stage(state.layer.name)
        if state.search is None:
            state.search = self._make_search(state.layer, self._database)
        candidates = state.search.next_batch()
        if candidates is None:
            state.exhausted = True
            state.batches.append(state.best_seconds)
            return 0
        before = state.trials
        measured, results = self._measure_candidates(state, candidates[:size])
        state.search.learn(measured, results)
        state.batches.append(state.best_seconds)
        used = state.trials - before
        state.empty_batches = 0 if used else state.empty_batches + 1
        state.exhausted = state.empty_batches >= _MOST_EMPTY_BATCHES
        self._show_network()
        return used

    def _measure_candidates(
        self, state: LayerState, candidates: Sequence[ms.MeasureCandidate]
    ) -> tuple[list[ms.MeasureCandidate], list[ms.runner.RunnerResult]]:
        """Build and measure, and write each result down as it comes. Returns the candidates that
        have a result; after an interruption these are not all."""
        results: dict[int, ms.runner.RunnerResult] = {}
        running: dict[int, Running] = {}
        seen: set[str] = set()
        chunk = self._measurer.chunk

        def write_down(wait: bool) -> None:
            for index, result in self._measurer.finished(running, wait):
                results[index] = result
                self._record(state, candidates[index], running.pop(index).built.digest, result)

        for start in range(0, len(candidates), chunk):
            if self._measurer.interrupted():
                break
            mods = [candidate.sch.mod for candidate in candidates[start : start + chunk]]
            for index, built in enumerate(self._measurer.build(mods), start):
                if isinstance(built, Failure):
                    self._record_failure(state, candidates[index], built, None)
                    results[index] = ms.runner.RunnerResult(None, str(built))
                elif built.digest in state.known or built.digest in seen:
                    self._measurer.discard(built)
                    if built.digest in state.known:
                        results[index] = _as_result(state.known[built.digest])
                else:
                    seen.add(built.digest)
                    running[index] = self._measurer.run(built)
            write_down(wait=False)
        while running and not self._measurer.interrupted():
            write_down(wait=True)
        indices = sorted(results)
        return [candidates[i] for i in indices], [results[i] for i in indices]

    def _record(
        self,
        state: LayerState,
        candidate: ms.MeasureCandidate,
        digest: str,
        result: ms.runner.RunnerResult,
    ) -> None:
        if result.run_secs is None:
            failure = Failure.parse(str(result.error_msg))
            self._record_failure(state, candidate, failure, digest)
            return
        seconds = _mean(result)
        state.trials += 1
        state.known[digest] = seconds
        state.best_seconds = min(state.best_seconds, seconds)
        record = ms.database.TuningRecord(
            candidate.sch.trace,
            self._database.commit_workload(state.mod),
            [seconds],
            self._target,
            candidate.args_info,
        )
        cycles = self._cycles(seconds)
        entry = {"task": state.layer.name, "program": digest, "cycles": cycles}
        self._log.add(record, {**entry, "trial": state.trials, "time": _now()})
        self._database.commit_tuning_record(record)
        self._progress.trial(state.layer.name, None)

    def _record_failure(
        self,
        state: LayerState,
        candidate: ms.MeasureCandidate,
        failure: Failure,
        digest: str | None,
    ) -> None:
        state.trials += 1
        if digest is not None and failure.kind not in TRANSIENT:
            state.known[digest] = failure
        entry: dict[str, Any] = {
            "task": state.layer.name,
            "kind": failure.kind,
            "message": failure.message,
            "program": digest,
            "time": _now(),
        }
        if failure.kind == WRONG_RESULT:
            # A bug of the compiler or of the device: keep all that is needed to see it again.
            entry["trace"] = to_plain(candidate.sch.trace.as_json())
        self._log.add_failure(entry)
        self._progress.trial(state.layer.name, failure.kind)

    def _show_network(self) -> None:
        default = sum(s.layer.count * self._cycles(s.default_seconds) for s in self.states)
        best = sum(s.layer.count * self._cycles(s.best_seconds) for s in self.states)
        if best:
            self._progress.network(default, best)

    def _cycles(self, seconds: float) -> int:
        return round(seconds * self._config.clock_khz * 1e3)


def _mean(result: ms.runner.RunnerResult) -> float:
    return sum(float(seconds) for seconds in result.run_secs) / len(result.run_secs)


def _as_result(known: float | Failure) -> ms.runner.RunnerResult:
    if isinstance(known, Failure):
        return ms.runner.RunnerResult(None, str(known))
    return ms.runner.RunnerResult([known], None)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
