"""Which schedule a production build gives each layer, and what it costs there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..codegen_tir import build
from ..device import DeviceConfig
from ..device_api import host_cost, program_cycles
from ..passes.packings import packings
from ..pipeline_options import DEFAULT as DEFAULT_PIPELINE
from ..pipeline_options import PipelineOptions
from ..program import Program
from ..schedule_rules import default_schedule
from ..schedule_rules.host_bounds import ranked
from ..schedule_rules.traces import trace_json
from ..topi import Operator
from ..topi.routed import route_name, routes_of
from .check import ProgramCheck
from .errors import LogError, RacesError
from .kernels import device_kernel
from .layers import Layer
from .log import RecordLine, TuningLog
from .report import DEFAULT, FORCED, TUNED, LayerResult
from .routes import BESIDE, ONLY
from .schedules import default_of, routed_schedule, tuned_schedule
from .workload import workload_module


@dataclass(frozen=True)
class _Choice:
    source: str
    default_cycles: int
    cycles: int
    packed: tuple[str, ...]  # arguments
    route: str | None = None
    is_simulated: bool = False


class _Run(NamedTuple):
    """A program that is right: its cycles, and those by which programs are compared."""

    cycles: int
    rank: float


class Chooser:
    """Takes a layer's schedule from `log` where it has one that is faster than the default,
    compiled by `pipeline` both: faster by more than the host's bounds are worth, if it is over one
    that the default is not (`host_bounds`).

    Logs of a runner decide by what it measured, which is what `results` has then; of a layer that
    they do not have, the cycles are the simulator's.

    `routes` of `routes.ROUTES` says whether the device's routes may be taken: those that the logs
    have, none, or, wherever one serves a layer and is right, always the fastest of them.
    """

    def __init__(
        self,
        config: DeviceConfig,
        log: TuningLog | None,
        routes: str = BESIDE,
        pipeline: PipelineOptions = DEFAULT_PIPELINE,
    ) -> None:
        self._config = config
        self._log = log
        self._pipeline = pipeline
        self._runner = "" if log is None else log.header.runner
        self._only_routes = routes == ONLY
        if log is not None:
            log.routes = routes
        self._check = ProgramCheck(config)
        self._choices: dict[Operator, _Choice] = {}

    def device_function(self, operator: Operator, _: DeviceConfig) -> PrimFunc:
        """The scheduled kernel of an operator, marked for the device. For `partition`.

        Its program, with the operator's own scale and activation, is run and compared with NumPy's
        answer. Raises as `results` does.
        """
        schedule = self.schedule(operator)
        self._run(operator.kernel(), schedule, self._choice(operator).source)
        return device_kernel(schedule, self._config, self._pipeline)

    def schedule(self, operator: Operator) -> Schedule:
        """The chosen schedule on the operator's kernel, with its own scales and activation.

        Raises as `results` does.
        """
        choice = self._choice(operator)
        if choice.source == FORCED and choice.route is not None:
            return routed_schedule(operator.kernel(), self._config, choice.route)
        if self._log is not None and choice.source == TUNED:
            tuned = tuned_schedule(operator, self._config, self._log)
            assert tuned is not None
            return tuned
        return default_schedule(operator.kernel(), self._config)

    def results(
        self, layers: Sequence[Layer], progress: Callable[[str], None] = lambda name: None
    ) -> list[LayerResult]:
        """What each layer costs by its default schedule and by the chosen one, both of which are
        run and compared with NumPy's answer; `progress` is called with each layer's name before.

        Raises LogError where the logs' schedule does not apply or does not hold true, CodegenError
        for a layer that does not fit the device at all, and TuningError for a program that is
        wrong.
        """
        results = []
        for layer in layers:
            progress(layer.name)
            choice = self._choice(layer.operator)
            result = LayerResult(layer, choice.default_cycles, choice.cycles, choice.source)
            result = replace(result, packed=choice.packed, route=choice.route)
            results.append(replace(result, is_simulated=choice.is_simulated))
        return results

    @property
    def n_checked(self) -> int:
        """How many distinct programs were run and are right."""
        return self._check.n_checked

    def require_tuned(self, layers: Sequence[Layer]) -> None:
        """Raise LogError naming the layers for which the logs have no schedule. There are logs."""
        assert self._log is not None
        missing = [
            layer.name
            for layer in layers
            if not self._log.records_of(workload_module(layer.operator, self._config))
        ]
        if missing:
            raise LogError(
                f"{self._log.folder} has no schedule for {', '.join(missing)}; tune them with: "
                "npu-target tune --resume, with more --trials, or build without --require-tuned"
            )

    def _choice(self, operator: Operator) -> _Choice:
        operator = operator.canonical()
        if operator not in self._choices:
            self._choices[operator] = self._choose(operator)
        return self._choices[operator]

    def _choose(self, operator: Operator) -> _Choice:
        default = default_of(operator, self._config)
        of_default = self._run(operator, default, DEFAULT)
        default_cycles = of_default.cycles
        standard = self._made(DEFAULT, default_cycles, default_cycles, default)
        standard = replace(standard, is_simulated=bool(self._runner))
        if self._only_routes:
            return self._forced(operator, default_cycles) or standard
        tuned = None
        if self._log is not None:
            tuned = tuned_schedule(operator, self._config, self._log)
        if tuned is None or self._log is None:
            return standard
        cycles, rank = self._run(operator, tuned, TUNED)
        records = self._log.records_of(workload_module(operator, self._config))
        logged = self._logged(records[0])
        if self._runner:
            return self._measured(records, default, tuned)
        if cycles != logged and self._pipeline == DEFAULT_PIPELINE:  # as it was logged
            raise LogError(
                f"{records[0].folder} is out of date: for {operator.name} it has {logged} cycles, "
                f"its schedule now gives {cycles}; measure its schedules anew with: "
                f"npu-target logs remeasure {records[0].folder}"
            )
        if cycles < default_cycles and rank < of_default.rank:
            return self._made(TUNED, default_cycles, cycles, tuned)
        return standard

    def _measured(
        self, records: Sequence[RecordLine], default: Schedule, tuned: Schedule
    ) -> _Choice:
        """By what a runner measured. Where that was not the default schedule, nothing is gained."""
        logged, trace = self._logged(records[0]), trace_json(default.trace)
        of_default = (record for record in records if record.record[0] == trace)
        before = self._logged(next(of_default, records[0]))
        if records[0].record[0] == trace:
            return self._made(DEFAULT, before, before, default)
        return self._made(TUNED, before, logged, tuned)

    def _logged(self, record: RecordLine) -> int:
        return round(record.seconds * self._config.clock_khz * 1e3)

    def _forced(self, operator: Operator, default_cycles: int) -> _Choice | None:
        """The fastest route of those that serve an operator and are right; None for none."""
        choices = []
        for name in routes_of(operator, self._config):
            schedule = routed_schedule(operator, self._config, name)
            with suppress(RacesError):
                cycles = self._run(operator, schedule, name).cycles
                choice = self._made(FORCED, default_cycles, cycles, schedule)
                choices.append(replace(choice, is_simulated=bool(self._runner)))
        return min(choices, key=lambda choice: choice.cycles, default=None)

    def _made(self, source: str, default_cycles: int, cycles: int, schedule: Schedule) -> _Choice:
        func = schedule.mod["main"]
        packed = tuple(packings(func, self._config))
        return _Choice(source, default_cycles, cycles, packed, route_name(func))

    def _run(self, operator: Operator, schedule: Schedule, source: str) -> _Run:
        func = schedule.mod["main"]
        program, packed = build(func, self._config, operator.name, None, self._pipeline)
        cycles = self._check.cycles(program, operator, source, packed)
        return _Run(cycles, ranked(cycles, host_cost(program.to_bytes())))


def cycles_of(program: Program) -> int:
    """Simulated cycles of one run, which do not depend on the values it works on."""
    cycles = program_cycles(program.to_bytes())
    assert cycles is not None
    return cycles
