"""The tuning loop: which layer next, find candidates, measure, write down, learn.

MetaSchedule's own loop writes nothing until a whole batch is measured, measures again after a
restart what it has measured before, and knows no bound below which a layer cannot go. This one
drives the same searches, builder and runner; while one batch is measured it searches for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tvm.s_tir import meta_schedule as ms

from ..config import NpuConfig
from ..target import make_target
from ..topi import Operator
from .batch import Batch
from .errors import TuningError
from .failure import DEVICE_LOST, Failure
from .layers import Layer
from .log import RecordLine, TuningLog
from .measuring import Measurer
from .progress import TuningProgress
from .recorder import Recorder, mean_seconds
from .report import LayerResult
from .schedules import default_of
from .search import BATCH, Search
from .state import LayerState
from .workload import workload_module

# What every layer gets, if there are that many trials.
_LEAST_TRIALS = 6
# A candidate this much slower than the default schedule need not be run to its end.
_HOPELESS = 20


class Tuner:
    """Tunes the layers of a network.

    `make_search` begins the search of a layer, `limit_cycles` ends hopeless runs of its operator
    early, `check_devices` raises when there is nothing left to measure on.
    """

    def __init__(
        self,
        config: NpuConfig,
        layers: Sequence[Layer],
        log: TuningLog,
        measurer: Measurer,
        make_search: Callable[[Layer, ms.database.Database], Search],
        limit_cycles: Callable[[Operator, int], None],
        check_devices: Callable[[], None],
        progress: TuningProgress,
    ) -> None:
        self._config = config
        self._log = log
        self._measurer = measurer
        self._make_search = make_search
        self._limit_cycles = limit_cycles
        self._check_devices = check_devices
        self._progress = progress
        self._target = make_target(config)
        self._recorder = Recorder(log, self._target, progress)
        # Only this thread touches it: the search reads it without a lock.
        self._database = ms.database.MemoryDatabase()
        self.states = [
            LayerState(layer, workload_module(layer.operator, config), config) for layer in layers
        ]

    def run(self, trials: int) -> None:
        """Measure the default schedules and the best known ones, then up to `trials` candidates.

        After an interruption it returns when what is under way is written down. Raises
        TuningError when a default schedule cannot be measured, when the logs do not hold true,
        and what `check_devices` raises.
        """
        self._read_journals()
        self._measure_defaults()
        self._measure_best_known()
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

    def _next_batch(self, size: int, busy: LayerState | None) -> Batch | None:
        """At most `size` candidates of the layer that promises most, of another than `busy` if
        there is one. None where there are none this time."""
        alive = self._alive()
        others = [state for state in alive if state is not busy] or alive
        if size <= 0 or not others or self._measurer.interrupted():
            return None
        untried = [state for state in others if not state.trials]
        if untried and size <= _LEAST_TRIALS * len(untried):
            # What is left is for the layers that have had no turn: each should have a record.
            others, size = untried, min(size, _LEAST_TRIALS)
        state = max(others, key=LayerState.promise)
        self._progress.stage(state.layer.name)
        if state.search is None:
            state.search = self._make_search(state.layer, self._database)
        candidates = state.search.next_batch()
        if candidates is None:
            state.exhausted = True
            return None
        return Batch(state, candidates[: min(BATCH, size)])

    def _learn(self, batch: Batch) -> int:
        """Take in a batch that was measured; returns how many trials it took."""
        self._check_devices()
        for record in batch.records:
            self._commit(batch.state, record)
        assert batch.state.search is not None
        batch.state.search.learn(*batch.learned())
        batch.state.end_batch(batch.trials)
        self._show_network()
        return batch.trials

    def _read_journals(self) -> None:
        by_name = {state.layer.name: state for state in self.states}
        for entry in self._log.measurements:
            state = by_name.get(entry["task"])
            if state is not None:
                state.trials += 1
                state.known[entry["program"]] = entry["cycles"] / (self._config.clock_khz * 1e3)
        for entry in self._log.failures:
            state = by_name.get(entry["task"])
            if state is not None and entry["kind"] != DEVICE_LOST:
                state.trials += 1
                if entry["program"] is not None:
                    state.known[entry["program"]] = Failure(entry["kind"], entry["message"])

    def _measure_defaults(self) -> None:
        """All at once. A default schedule that fails is an error: nothing could be compared."""
        self._progress.stage("measuring default schedules")
        schedules = [default_of(state.layer.operator, self._config) for state in self.states]
        results = self._measurer.measure_all([schedule.mod for schedule in schedules])
        self._check_devices()
        for state, schedule, result in zip(self.states, schedules, results, strict=True):
            if result.run_secs is None:
                raise TuningError(
                    f"{state.layer.name}: its default schedule cannot be measured: "
                    f"{result.error_msg}"
                )
            state.set_default(mean_seconds(result))
            arguments = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
            # The search may begin from it.
            self._commit(
                state,
                ms.database.TuningRecord(
                    schedule.trace,
                    ms.database.Workload(state.mod),
                    [state.default_seconds],
                    self._target,
                    arguments,
                ),
            )
            self._limit_cycles(
                state.layer.operator, _HOPELESS * state.cycles(state.default_seconds)
            )
        self._show_network()

    def _measure_best_known(self) -> None:
        """Measure anew the best schedule that the logs have of each layer, and let the search
        begin from the best few."""
        self._progress.stage("measuring the logs' best schedules")
        known: list[tuple[LayerState, RecordLine]] = []
        for state in self.states:
            lines = self._log.records_of(state.mod)[:BATCH]
            for line in lines:
                self._commit(state, self._log.parse(line))
            known += [(state, line) for line in lines[:1]]
        mods = [self._log.parse(line).as_measure_candidate().sch.mod for _, line in known]
        results = self._measurer.measure_all(mods)
        self._check_devices()
        for (state, line), result in zip(known, results, strict=True):
            logged = state.cycles(line.seconds)
            if result.run_secs is None or state.cycles(mean_seconds(result)) != logged:
                now = result.error_msg or f"{state.cycles(mean_seconds(result))} cycles"
                raise TuningError(
                    f"{self._log.folder} is out of date: for {state.layer.name} it has {logged} "
                    f"cycles, its schedule now gives {now}; measure its schedules anew with: "
                    f"python -m npu_target.tuning remeasure {self._log.folder}"
                )
            state.best_seconds = min(state.best_seconds, line.seconds)
            state.history = [state.best_seconds]
        self._show_network()

    def _commit(self, state: LayerState, record: ms.database.TuningRecord) -> None:
        workload = self._database.commit_workload(state.mod)
        self._database.commit_tuning_record(
            ms.database.TuningRecord(
                record.trace, workload, record.run_secs, self._target, record.args_info
            )
        )

    def _show_network(self) -> None:
        results = self.results()
        default = sum(result.layer.count * result.default_cycles for result in results)
        cycles = sum(result.layer.count * result.cycles for result in results)
        if cycles:
            self._progress.network(default, cycles)
