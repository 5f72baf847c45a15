"""The tuning loop: which layer next, find candidates, measure, write down, learn.

MetaSchedule's own loop writes nothing until a whole batch is measured, measures again after a
restart what it has measured before, and knows no bound below which a layer cannot go. In this one
the next batch is searched for and compiled while one is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from tvm.s_tir import Schedule

from ..device import DeviceConfig
from ..schedule_rules import routed_designs
from ..schedule_rules.traces import trace_json
from ..topi import Operator
from .batch import Batch
from .candidate import Candidate
from .errors import TuningError
from .failure import DEVICE_LOST, Failure
from .layer_search import BATCH, LayerSearch
from .layers import Layer
from .log import DEFAULT_TRIAL, RecordLine, TuningLog
from .measuring import Measurer, Result
from .progress import TuningProgress
from .recorder import Recorder
from .report import LayerResult
from .routes import BESIDE, NONE, ONLY
from .schedules import default_of
from .state import LayerState
from .workload import workload_module

# What every layer gets, if there are that many trials.
_LEAST_TRIALS = 6
# A candidate this much slower than the default schedule need not be run to its end.
_HOPELESS = 20


class Tuner:
    """Tunes the layers of a network.

    `make_search` begins the search of a layer. `routes` of `routes.ROUTES` says whether the
    device's routes are measured beside what it finds, or alone.
    """

    def __init__(
        self,
        config: DeviceConfig,
        layers: Sequence[Layer],
        log: TuningLog,
        measurer: Measurer,
        make_search: Callable[[Layer], LayerSearch],
        progress: TuningProgress,
        routes: str = BESIDE,
    ) -> None:
        self._config = config
        self._routes = routes
        self._log = log
        self._measurer = measurer
        self._make_search = make_search
        self._progress = progress
        self._recorder = Recorder(log, progress)
        self.states = [
            LayerState(layer, workload_module(layer.operator, config), config) for layer in layers
        ]

    def run(self, trials: int) -> None:
        """Measure the default schedules and the best known ones, then up to `trials` candidates,
        the device's routes first.

        After an interruption it returns when what is under way is written down. Raises
        TuningError when a default schedule cannot be measured, when the logs do not hold true,
        and DevicesLost when there is nothing left to measure on.
        """
        self._read_journals()
        self._measure_defaults()
        self._measure_best_known()
        self._record_defaults()
        if self._routes != NONE:
            trials -= self._measure_routes(trials)
        if self._routes == ONLY:
            return
        with ThreadPoolExecutor(1, "measuring") as executor:
            pending: tuple[Batch, Future[None]] | None = None
            while True:
                reserved = len(pending[0].candidates) if pending else 0
                batch = self._next_batch(trials - reserved, pending[0].state if pending else None)
                if pending:
                    pending[1].result()
                    trials -= self._learn(pending[0])
                    pending = None
                if batch is not None:
                    work = executor.submit(batch.measure, self._measurer, self._recorder)
                    pending = (batch, work)
                elif trials <= 0 or self._measurer.interrupted() or not self._alive():
                    return

    def results(self) -> list[LayerResult]:
        """What came of it, for the layers whose default schedule was measured."""
        return [state.result() for state in self.states if state.default_seconds]

    def _alive(self) -> list[LayerState]:
        return [state for state in self.states if not state.exhausted]

    def _next_batch(self, left: int, busy: LayerState | None) -> Batch | None:
        """Candidates of the layer that promises most, of another than `busy` if there is one; at
        most the `left` trials. None where there are none this time."""
        alive = self._alive()
        others = [state for state in alive if state is not busy] or alive
        if left <= 0 or not others or self._measurer.interrupted():
            return None
        untried = [state for state in others if state.trials <= state.route_trials]
        size = min(BATCH, left)
        if untried and left <= _LEAST_TRIALS * len(untried):
            # What is left is for the layers that have had no turn: each should have a record.
            others, size = untried, min(size, _LEAST_TRIALS)
        state = max(others, key=LayerState.promise)
        self._progress.stage(state.layer.name)
        if state.search is None:
            state.search = self._make_search(state.layer)
            for trace, cycles in state.known_schedules:
                state.search.begin_from(trace, cycles)
        later = (left - size) // len(alive)
        candidates = state.search.next_batch(state.cycles_to_beat(), size, later)
        self._progress.rejected(state.search.rejected)
        state.search.rejected.clear()
        if candidates is None:
            state.exhausted = True
            return None
        return Batch(state, candidates)

    def _learn(self, batch: Batch) -> int:
        """Take in a batch that was measured; returns how many trials it took."""
        self._measurer.check_devices()
        assert batch.state.search is not None
        batch.state.search.learn(*batch.learned())
        batch.state.end_batch(batch.trials)
        self._show_network()
        return batch.trials

    def _read_journals(self) -> None:
        by_name = {state.layer.name: state for state in self.states}
        for entry in self._log.known_measurements:
            state = by_name.get(entry["task"])
            if state is not None and entry.get("trial") != DEFAULT_TRIAL:
                state.trials += 1
                state.known[entry["program"]] = entry["cycles"] / (self._config.clock_khz * 1e3)
        for entry in self._log.known_failures:
            state = by_name.get(entry["task"])
            if state is not None and entry["kind"] != DEVICE_LOST:
                state.trials += 1
                if entry["program"] is not None:
                    state.known[entry["program"]] = Failure(entry["kind"], entry["message"])

    def _measure_defaults(self) -> None:
        """All at once. A default schedule that fails is an error: nothing could be compared."""
        stage = "choosing default schedules"
        self._progress.stage(stage)
        operators = [state.layer.operator for state in self.states]
        self._measurer.choose_defaults(operators, partial(self._progress.stage_of, stage))
        stage = "measuring default schedules"
        self._progress.stage(stage)
        traces = [trace_json(default_of(operator, self._config).trace) for operator in operators]
        schedules = list(zip(operators, traces, strict=True))
        results = self._measure_twice(schedules, stage)
        for state, trace, result in zip(self.states, traces, results, strict=True):
            if isinstance(result, Failure):
                raise TuningError(
                    f"{state.layer.name}: its default schedule cannot be measured: {result}"
                )
            state.set_default(result)
            cycles = state.cycles(result)
            state.known_schedules.append((trace, cycles))
            self._measurer.limit_cycles(state.layer.operator, _HOPELESS * cycles)
        self._show_network()

    def _measure_twice(self, schedules: Sequence[tuple[Operator, Any]], stage: str) -> list[Result]:
        """Results without which there is no going on. A command may fail for reasons of its own, so
        what does gets a second turn there; the simulator would say the same again."""
        progress = partial(self._progress.stage_of, stage)
        results = self._measurer.measure_all(schedules, progress)
        self._measurer.check_devices()
        failed = [i for i, result in enumerate(results) if isinstance(result, Failure)]
        if failed and self._log.header.runner:
            again = self._measurer.measure_all([schedules[i] for i in failed], progress)
            self._measurer.check_devices()
            for index, result in zip(failed, again, strict=True):
                results[index] = result
        return results

    def _record_defaults(self) -> None:
        """Write down each layer's default schedule that is faster than all that the logs have: a
        build takes it where the search finds nothing faster, also when another version's default
        is slower."""
        for state in self.states:
            records = self._log.records_of(state.mod)
            if not records or state.default_seconds < records[0].seconds:
                trace, _ = state.known_schedules[0]
                self._recorder.record_default(state, trace)

    def _measure_routes(self, left: int) -> int:
        """Measure the routes of each layer that were not measured before, which need no search; at
        most the `left` trials. Returns how many these were."""
        self._progress.stage("measuring the device's routes")
        compiling = []
        for state in self.states:
            designs = routed_designs(Schedule(state.mod), state.layer.operator, self._config)
            traces = [trace_json(design.trace) for design in designs]
            operator = state.layer.operator
            compiling.append([(x, self._measurer.compile(operator, x)) for x in traces])
        tried = 0
        for state, futures in zip(self.states, compiling, strict=True):
            candidates = [Candidate(trace, future.result()) for trace, future in futures]
            batch = Batch(state, candidates[: max(0, left - tried)])
            batch.measure(self._measurer, self._recorder)
            state.end_routes(len(candidates))
            tried += batch.trials
        self._measurer.check_devices()
        self._show_network()
        return tried

    def _measure_best_known(self) -> None:
        """Measure anew the best schedule that the logs have of each layer, and let the search
        begin from the best few."""
        stage = "measuring the logs' best schedules"
        self._progress.stage(stage)
        known: list[tuple[LayerState, RecordLine]] = []
        for state in self.states:
            lines = self._log.records_of(state.mod)[:BATCH]
            for line in lines:
                trace = trace_json(self._log.parse(line).trace)
                state.known_schedules.append((trace, state.cycles(line.seconds)))
            known += [(state, line) for line in lines[:1]]
        results = self._measure_twice(
            [(state.layer.operator, line.record[0]) for state, line in known], stage
        )
        for (state, line), result in zip(known, results, strict=True):
            logged = state.cycles(line.seconds)
            # The simulator takes the same cycles every time; a command may be of something else.
            is_other = isinstance(result, Failure) or state.cycles(result) != logged
            if isinstance(result, Failure) or (is_other and not self._log.header.runner):
                now = result if isinstance(result, Failure) else f"{state.cycles(result)} cycles"
                raise TuningError(
                    f"{line.folder} is out of date: for {state.layer.name} it has {logged} "
                    f"cycles, its schedule now gives {now}; measure its schedules anew with: "
                    f"npu-target logs remeasure {line.folder}"
                )
            if is_other:
                self._progress.note(
                    f"{state.layer.name}: the logs' best schedule has {logged:,} cycles there, "
                    f"{state.cycles(result):,} now"
                )
            state.set_logged(line.seconds)
        self._show_network()

    def _show_network(self) -> None:
        results = self.results()
        default = sum(result.layer.count * result.default_cycles for result in results)
        cycles = sum(result.layer.count * result.cycles for result in results)
        if cycles:
            self._progress.network(default, cycles)
