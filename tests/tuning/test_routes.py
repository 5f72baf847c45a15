"""The device's routes beside schedules: measured, logged, chosen, and kept out."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import pytest
from tuning.test_tuner import CYCLE, NO_HOST, PlayedMeasurer, PlayedSearch, QuietProgress, different
from tvm.s_tir import Schedule

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.schedule_rules import routed_designs
from npu_target.schedule_rules.traces import trace_json
from npu_target.topi import Add, Matmul
from npu_target.topi.routed import route_name
from npu_target.tuning.candidate import RecordForm
from npu_target.tuning.check import ProgramCheck
from npu_target.tuning.choose import Chooser, cycles_of
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.dump import with_layouts
from npu_target.tuning.errors import TuningError
from npu_target.tuning.failure import RACE, WRONG_RESULT, Failure
from npu_target.tuning.header import Header
from npu_target.tuning.layers import Layer
from npu_target.tuning.log import open_log, read_log
from npu_target.tuning.report import to_json
from npu_target.tuning.routes import BESIDE, NONE, ONLY, counts, route_in_trace
from npu_target.tuning.schedules import default_of, routed_schedule
from npu_target.tuning.tuner import Tuner
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "model", "")
# One that the library's tiles suit better than the default's.
PRODUCT = Matmul(1, 128, 128, 128, bias=False)
ADD = Add(16, 16, 16)
LAYERS = [Layer(operator.canonical(), 1) for operator in (PRODUCT, ADD)]


def route_trace(operator=PRODUCT):
    mod = workload_module(operator, CONFIG)
    (design,) = routed_designs(Schedule(mod), operator.canonical(), CONFIG)
    return trace_json(design.trace)


def route_cycles(operator=PRODUCT) -> int:
    func = routed_schedule(operator, CONFIG, "loop_ws").mod["main"]
    return cycles_of(build_program(func, CONFIG, operator.name))


def test_a_trace_tells_its_route():
    routed, scheduled = route_trace(), trace_json(default_of(PRODUCT, CONFIG).trace)
    assert route_in_trace(routed) == "loop_ws" and route_in_trace(scheduled) is None
    looked_at = [(counts(routed, x), counts(scheduled, x)) for x in (BESIDE, NONE, ONLY)]
    assert looked_at == [(True, True), (False, True), (True, False)]


def test_a_builder_process_compiles_it():
    compiled = compile_trace(CompileJob(PRODUCT.canonical(), CONFIG, route_trace()))
    assert isinstance(compiled, Compiled)
    assert 0 < compiled.least_cycles <= route_cycles()
    assert np.isfinite(compiled.features).all()


class MeasurerOfRoutes(PlayedMeasurer):
    """The program of a route has the last place of its layer's times."""

    def compile(self, operator, trace):
        future: Future[Compiled] = Future()
        place = len(self.times[operator.name]) - 1
        future.set_result(Compiled(b"", f"{operator.name}:{place}", 1, np.zeros(1), NO_HOST))
        return future


@pytest.fixture
def progress():
    return QuietProgress()


@pytest.fixture
def tune(tmp_path, progress):
    def run(measurer, trials, routes=BESIDE):
        with open_log(tmp_path / "log", HEADER) as log:
            log.routes = routes
            tuner = Tuner(
                CONFIG,
                LAYERS,
                log,
                measurer,
                lambda layer: PlayedSearch(layer, 100, measurer.times),
                progress,
                routes,
            )
            tuner.run(trials)
            return tuner

    return run


def times(route: int) -> dict[str, list]:
    return {layer.name: [*different(50), route] for layer in LAYERS}


def test_routes_are_the_first_trials_and_may_win(tune, tmp_path):
    tuner = tune(MeasurerOfRoutes(times(route=400)), 30)
    assert [result.cycles for result in tuner.results()] == [400, 500]
    log = read_log(tmp_path / "log", HEADER)
    assert log.trials == 30
    first = next(m for m in log.measurements if m["trial"] == 1)
    assert (first["task"], first["cycles"]) == (PRODUCT.name, 400)
    best, *others = log.records_of(tuner.states[0].mod)
    assert route_in_trace(best.record[0]) == "loop_ws"
    assert {route_in_trace(other.record[0]) for other in others} == {None}
    results = with_layouts(tuner.results()[:1], CONFIG, log)
    assert (results[0].source, results[0].route) == ("tuned", "loop_ws")
    assert to_json(results, CONFIG)["layers"][0]["route"] == "loop_ws"


class SecondRun(MeasurerOfRoutes):
    """The default schedules, then what the logs have: the route, and the addition's default."""

    answers = iter(([1000, 1000], [700, 1000]))

    def measure_all(self, schedules, progress=None):
        return [cycles * CYCLE for cycles in next(self.answers)]


def test_a_route_is_measured_once(tune):
    first, second = MeasurerOfRoutes(times(route=700)), SecondRun(times(route=700))
    tune(first, 1)
    tuner = tune(second, 4)
    assert first.ran == [f"{PRODUCT.name}:50"]
    assert len(second.ran) == 4 and first.ran[0] not in second.ran
    assert tuner.states[0].trials + tuner.states[1].trials == 5


def test_a_route_that_fails_is_a_failure_with_its_kind(tune, tmp_path, progress):
    tune(MeasurerOfRoutes({layer.name: [*different(50), "race"] for layer in LAYERS}), 20)
    (failure,) = read_log(tmp_path / "log", HEADER).failures
    assert (failure["task"], failure["kind"]) == (PRODUCT.name, "race")
    assert failure["route"] == "loop_ws" and "race of loop_ws" in progress.failures


def test_none_are_measured_where_none_are_asked_for(tune):
    measurer = MeasurerOfRoutes(times(route=400))
    tune(measurer, 30, NONE)
    assert f"{PRODUCT.name}:50" not in measurer.ran and len(measurer.ran) == 30


def test_alone_there_is_no_search(tune):
    measurer = MeasurerOfRoutes(times(route=400))
    tuner = tune(measurer, 30, ONLY)
    assert measurer.ran == [f"{PRODUCT.name}:50"]
    assert [result.cycles for result in tuner.results()] == [400, 1000]


@pytest.fixture
def log(tmp_path):
    mod = workload_module(PRODUCT, CONFIG)
    with open_log(tmp_path / "log", HEADER) as log:
        record = RecordForm.of(mod, CONFIG).record(route_trace(), route_cycles() * CYCLE)
        log.add_json(mod, record, {"task": PRODUCT.name, "program": "", "cycles": route_cycles()})
    return lambda: read_log(tmp_path / "log", HEADER)


def test_a_build_takes_the_faster_one(log):
    product, add = Chooser(CONFIG, log()).results(LAYERS)
    assert (product.source, product.route, product.cycles) == ("tuned", "loop_ws", route_cycles())
    assert product.cycles < product.default_cycles
    assert (add.source, add.route) == ("default", None)


def test_a_build_without_routes_takes_schedules(log):
    chooser = Chooser(CONFIG, log(), NONE)
    (product, _) = chooser.results(LAYERS)
    assert (product.source, product.route) == ("default", None)


def test_a_wrong_route_ends_a_build_with_routes_alone(monkeypatch):
    wrong = Failure(WRONG_RESULT, "3 of 4 elements")
    monkeypatch.setattr(ProgramCheck, "_run", lambda *arguments: wrong)
    with pytest.raises(TuningError, match=r"its loop_ws schedule .* is wrong: \[wrong_result\]"):
        Chooser(CONFIG, None, ONLY)._forced(PRODUCT, 1 << 30)


def test_a_route_that_races_serves_nothing(monkeypatch):
    monkeypatch.setattr(ProgramCheck, "_run", lambda *arguments: Failure(RACE, "two loads"))
    assert Chooser(CONFIG, None, ONLY)._forced(PRODUCT, 1 << 30) is None


@pytest.mark.parametrize("operator", [PRODUCT, Matmul(1, 40, 24, 16, relu=True, scale=0.02)])
def test_a_build_with_routes_alone_needs_no_logs(operator):
    chooser = Chooser(CONFIG, None, ONLY)
    (result,) = chooser.results([Layer(operator.canonical(), 1)])
    assert (result.source, result.route) == ("forced", "loop_ws")
    assert result.cycles == route_cycles(operator.canonical())
    assert route_name(chooser.device_function(operator, CONFIG)) == "loop_ws"
    (add,) = chooser.results([LAYERS[1]])
    assert (add.source, add.route) == ("default", None)
