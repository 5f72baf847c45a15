"""The tuning loop with searches and devices that are played, so that every turn it takes shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from npu_target.device import preset
from npu_target.device_api import HostCost
from npu_target.topi import Add
from npu_target.tuning.batch import Batch
from npu_target.tuning.candidate import Candidate
from npu_target.tuning.compiling import Compiled
from npu_target.tuning.errors import TuningError
from npu_target.tuning.failure import Failure
from npu_target.tuning.header import Header
from npu_target.tuning.layers import Layer
from npu_target.tuning.log import open_log, read_log
from npu_target.tuning.measuring import Running
from npu_target.tuning.state import LayerState
from npu_target.tuning.tuner import Tuner

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "model", "")
LAYERS = [Layer(Add(rows, 16, 16).canonical(), 1) for rows in (16, 32, 64)]
CYCLE = 1 / (CONFIG.clock_khz * 1e3)
# A program that asks the host for nothing, and one that is over a bound of it.
NO_HOST = HostCost(0, 1, 0, 0, 0)
MUCH_HOST = HostCost(4, 1, 0, 0, 0)


@dataclass
class PlayedMeasurer:
    """Gives every candidate the cycles, or the failure, that `times` has for its layer, in turn.
    The digest of a program is its layer and its place in that list."""

    times: dict[str, list]
    defaults: dict[str, object] = field(default_factory=dict)
    stop_after: int | None = None
    ran: list[str] = field(default_factory=list)

    def interrupted(self) -> bool:
        return self.stop_after is not None and len(self.ran) >= self.stop_after

    def check_devices(self) -> None:
        pass

    def limit_cycles(self, operator, max_cycles) -> None:
        pass

    def run(self, operator, compiled) -> Running:
        self.ran.append(compiled.digest)
        return Running(compiled.digest, None)

    def finished(self, running, blocking):
        for index, entry in list(running.items()):
            name, _, place = entry.digest.partition(":")
            yield index, played(self.times[name][int(place)])

    def choose_defaults(self, operators, progress=None):
        """They are chosen where they are asked for."""

    def measure_all(self, schedules, progress=None):
        return [played(self.defaults.get(operator.name, 1000)) for operator, _ in schedules]


def played(value) -> float | Failure:
    return Failure(value, "played") if isinstance(value, str) else value * CYCLE


class PlayedSearch:
    """Batches of candidates whose digests the measurer knows, round and round, as often as asked
    for."""

    def __init__(self, layer: Layer, batches: int, times: dict[str, list]) -> None:
        self.name = layer.name
        self.times = times.get(layer.name, [])
        self.batches = batches
        self.given = 0
        self.learned: list[int] = []
        self.known: list[float] = []
        self.rejected: Counter[str] = Counter()

    def begin_from(self, trace, cycles) -> None:
        self.known.append(cycles)

    def next_batch(self, best_cycles, size, later):
        self.rejected["pruned"] += 1
        self.batches -= 1
        if self.batches < 0:
            return None
        return [self.candidate() for _ in range(size)]

    def candidate(self) -> Candidate:
        place = self.given % len(self.times)
        self.given += 1
        if self.times[place] == "does_not_fit":
            return Candidate([[], []], Failure("does_not_fit", "too large"))
        return Candidate([[], []], Compiled(b"", f"{self.name}:{place}", 1, np.zeros(1), NO_HOST))

    def learn(self, candidates, results) -> None:
        assert len(candidates) == len(results)
        self.learned.append(len(results))


class QuietProgress:
    def __init__(self) -> None:
        self.failures: list[str | None] = []
        self.pruned = 0

    def stage(self, text) -> None:
        pass

    def stage_of(self, text, done, total) -> None:
        pass

    def network(self, default_cycles, cycles) -> None:
        self.cycles = cycles

    def trial(self, layer, failure) -> None:
        self.failures.append(failure)

    def rejected(self, kinds) -> None:
        self.pruned += kinds["pruned"]


@pytest.fixture
def tune(tmp_path):
    """Runs a tuner and gives it back; the logs stay from run to run."""

    def run(measurer: PlayedMeasurer, trials: int, layers=LAYERS, batches: int = 100) -> Tuner:
        with open_log(tmp_path / "log", HEADER) as log:
            tuner = Tuner(
                CONFIG,
                layers,
                log,
                measurer,
                lambda layer: PlayedSearch(layer, batches, measurer.times),
                QuietProgress(),
            )
            tuner.run(trials)
            return tuner

    return run


def log_of(tmp_path):
    return read_log(tmp_path / "log", HEADER)


def different(count: int, start: int = 500) -> list[int]:
    return [start + i for i in range(count)]


def test_all_trials_are_used_and_written_down(tune, tmp_path):
    measurer = PlayedMeasurer({layer.name: different(1000) for layer in LAYERS})
    tuner = tune(measurer, 100)
    log = log_of(tmp_path)
    assert log.trials == len(measurer.ran) == 100
    assert sum(state.trials for state in tuner.states) == 100
    assert {result.cycles for result in tuner.results()} == {500}
    assert all(log.best(state.mod) is not None for state in tuner.states)


def test_every_layer_has_a_record_even_when_trials_are_few(tune, tmp_path):
    tune(PlayedMeasurer({layer.name: different(1000) for layer in LAYERS}), 18)
    assert {m["task"] for m in log_of(tmp_path).measurements} == {x.name for x in LAYERS}


def test_a_layer_with_nothing_faster_has_its_default_schedule_in_the_logs(tune, tmp_path):
    slow = {layer.name: ["does_not_fit"] for layer in LAYERS}
    tuner = tune(PlayedMeasurer(slow, defaults={layer.name: 700 for layer in LAYERS}), 5)
    log = log_of(tmp_path)
    assert [m["trial"] for m in log.measurements] == [0] * len(LAYERS)
    for state in tuner.states:
        (record,) = log.records_of(state.mod)
        assert state.cycles(record.seconds) == 700
    assert sum(state.trials for state in tuner.states) == log.trials


def test_no_program_runs_twice_not_even_in_another_run(tune, tmp_path):
    times = {layer.name: different(20) for layer in LAYERS}
    first = PlayedMeasurer(times)
    tune(first, 1000)
    assert len(first.ran) == len(set(first.ran)) == 60
    tuner = tune(PlayedMeasurerOfKnown(times), 1000)
    assert all(state.exhausted for state in tuner.states)
    assert log_of(tmp_path).trials == 60


class PlayedMeasurerOfKnown(PlayedMeasurer):
    """As another run does it: the default schedules first, then the logs' best ones."""

    calls = 0

    def measure_all(self, schedules, progress=None):
        self.calls += 1
        first = self.calls == 1
        return super().measure_all(schedules) if first else [played(500) for _ in schedules]


def test_failures_are_kept_with_their_kind_and_are_trials(tune, tmp_path):
    kinds = ["wrong_result", "does_not_fit", "timed_out", "device_lost"]
    times = {layer.name: [*kinds, *different(1000)] for layer in LAYERS}
    tuner = tune(PlayedMeasurer(times), 90)
    log = log_of(tmp_path)
    assert {failure["kind"] for failure in log.failures} == set(kinds)
    assert all("trace" in f for f in log.failures if f["kind"] == "wrong_result")
    lost = sum(failure["kind"] == "device_lost" for failure in log.failures)
    # A lost device says nothing of the candidate: resuming does not count it.
    assert log.trials == 90 - lost
    assert tuner.results()[0].cycles == 500


def test_an_interruption_ends_the_run_with_all_results_written(tune, tmp_path):
    measurer = PlayedMeasurer({x.name: different(1000) for x in LAYERS}, stop_after=20)
    tune(measurer, 1000)
    written = {m["program"] for m in log_of(tmp_path).measurements if m["trial"]}
    assert written <= set(measurer.ran) and 20 <= len(measurer.ran) < 60
    assert len(written) >= len(measurer.ran) - 1


def test_a_default_schedule_that_fails_is_an_error(tune):
    measurer = PlayedMeasurer({}, defaults={LAYERS[1].name: "wrong_result"})
    with pytest.raises(TuningError, match=f"{LAYERS[1].name}: its default schedule cannot be"):
        tune(measurer, 10)


def test_logs_that_do_not_hold_true_are_an_error(tune):
    times = {layer.name: different(1000) for layer in LAYERS}
    tune(PlayedMeasurer(times), 60)
    with pytest.raises(TuningError, match=r"is out of date: for .* it has 500 cycles, .* 1000"):
        tune(PlayedMeasurer(times), 60)


def test_the_run_ends_when_every_space_is_used_up(tune):
    tuner = tune(PlayedMeasurer({x.name: different(1000) for x in LAYERS}), 10_000, batches=2)
    assert [state.trials for state in tuner.states] == [32, 32, 32]


def test_what_a_batch_learned_leaves_out_equal_candidates(tune):
    measurer = PlayedMeasurer({LAYERS[0].name: [700, 800]})
    tuner = tune(measurer, 16, LAYERS[:1])
    assert tuner.states[0].trials == 2
    assert max(tuner.states[0].search.learned) <= 2


def test_a_search_begins_from_the_default_and_the_logs_best(tune):
    times = {LAYERS[0].name: different(40, start=600)}
    tune(PlayedMeasurer(times), 20, LAYERS[:1])

    class Measurer(PlayedMeasurer):
        def measure_all(self, schedules, progress=None):
            # The default schedule, then the logs' best.
            self.defaults = {LAYERS[0].name: 600 if self.defaults else 1000}
            return super().measure_all(schedules)

    tuner = tune(Measurer(times), 10, LAYERS[:1])
    known = tuner.states[0].search.known
    assert known[:2] == [1000, 600] and len(known) == 17


def test_a_default_faster_than_all_that_the_logs_have_is_written_down(tune, tmp_path):
    times = {LAYERS[0].name: different(40, start=600)}

    class Measurer(PlayedMeasurer):
        def __init__(self, default: int, best_known: int) -> None:
            super().__init__(times)
            self.answers = [default, best_known]

        def measure_all(self, schedules, progress=None):
            self.defaults = {LAYERS[0].name: self.answers.pop(0)}
            return super().measure_all(schedules)

    # Nothing logged yet; faster than the candidates; slower than what is logged by then.
    for default, best_known in ((1000, 1000), (400, 600), (700, 400)):
        tune(Measurer(default, best_known), 10, LAYERS[:1])
    defaults = [m["cycles"] for m in log_of(tmp_path).measurements if m["trial"] == 0]
    assert defaults == [1000, 400]


def test_what_is_not_worth_measuring_is_no_trial(tune):
    tuner = tune(PlayedMeasurer({LAYERS[0].name: different(1000)}), 64, LAYERS[:1])
    assert tuner.states[0].trials == 64
    assert tuner._progress.pruned >= 4
    assert set(tuner._progress.failures) == {None}


def test_a_batch_of_nothing_is_nothing():
    batch = Batch(LayerState(LAYERS[0], None, CONFIG), [])
    batch.measure(PlayedMeasurer({}), None)
    assert batch.learned() == ([], []) and batch.trials == 0
