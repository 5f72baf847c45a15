"""From traces to results: compiled in builder processes, run on all devices at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from ..device import DeviceConfig
from ..pipeline_options import DEFAULT, PipelineOptions
from ..topi import Operator
from .build_pool import BuildPool
from .chosen_defaults import choose_defaults
from .compiling import Compiled, CompileJob, definition
from .errors import TuningError
from .failure import DEVICE_LOST, Failure
from .pool import DevicePool
from .session import Job, Outcome

# How long at most an interruption goes unseen. Asking more often takes time from the compilers.
_INTERRUPT_SECONDS = 0.1

# Simulated seconds, or why there are none.
Result = float | Failure


@dataclass(frozen=True)
class Running:
    """A program on its way through a device."""

    digest: str
    future: Future[Outcome]


class Measurer:
    """Drives builder processes, which compile by `pipeline`, and devices.

    The inputs are drawn from `seed`. A run fails as timed_out past `timeout_seconds` of real
    time, or past the simulated cycles that `limit_cycles` set for its operator. `interrupted` is
    asked while waiting.
    """

    def __init__(
        self,
        config: DeviceConfig,
        builders: BuildPool,
        devices: DevicePool,
        interrupted: Callable[[], bool],
        seed: int = 0,
        timeout_seconds: float = 30.0,
        pipeline: PipelineOptions = DEFAULT,
    ) -> None:
        self._config = config
        self._builders = builders
        self._devices = devices
        self._seed = seed
        self._timeout_seconds = timeout_seconds
        self._pipeline = pipeline
        self._max_cycles: dict[Operator, int] = {}
        self.interrupted = interrupted

    def limit_cycles(self, operator: Operator, max_cycles: int) -> None:
        """End runs of an operator that take more simulated cycles than this."""
        self._max_cycles[operator] = max_cycles

    def choose_defaults(
        self,
        operators: Sequence[Operator],
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """See `chosen_defaults.choose_defaults`."""
        choose_defaults(operators, self._config, self._builders, self.interrupted, progress)

    def check_devices(self) -> None:
        """Raise DevicesLost when there is nothing left to measure on."""
        self._devices.check()

    def compile(self, operator: Operator, trace: Any) -> Future[Compiled | Failure]:
        """Begin to compile a schedule of the operator's workload, a trace in JSON form."""
        text = definition(operator, self._config)
        job = CompileJob(operator, self._config, trace, text, self._pipeline)
        return self._builders.submit(job)

    def run(self, operator: Operator, compiled: Compiled) -> Running:
        """Begin to measure."""
        job = Job(
            compiled.program,
            operator.name,
            operator,
            self._seed,
            self._timeout_seconds,
            self._max_cycles.get(operator, 0),
            compiled.packings,
        )
        return Running(compiled.digest, self._devices.submit(job))

    def finished(
        self, running: Mapping[int, Running], blocking: bool
    ) -> Iterator[tuple[int, Result]]:
        """Results of what is done; with `blocking`, of at least one, unless interrupted."""
        while True:
            done = [index for index, entry in running.items() if entry.future.done()]
            if done or not blocking or self.interrupted():
                break
            futures = [entry.future for entry in running.values()]
            wait(futures, _INTERRUPT_SECONDS, FIRST_COMPLETED)
        for index in done:
            yield index, _result(running[index].future)

    def measure_all(
        self,
        schedules: Sequence[tuple[Operator, Any]],
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[Result]:
        """The results of these operators' traces; `progress` is told how many of all are there.
        Raises KeyboardInterrupt when interrupted."""
        compiling = [self.compile(operator, trace) for operator, trace in schedules]
        results: dict[int, Result] = {}
        running: dict[int, Running] = {}
        for index, (future, (operator, _)) in enumerate(zip(compiling, schedules, strict=True)):
            compiled = future.result()
            if isinstance(compiled, Failure):
                results[index] = compiled
            else:
                running[index] = self.run(operator, compiled)
        while running:
            if self.interrupted():
                raise KeyboardInterrupt
            for index, result in self.finished(running, blocking=True):
                results[index] = result
                del running[index]
                progress(len(results), len(schedules))
        return [results[index] for index in range(len(schedules))]


def _result(future: Future[Outcome]) -> Result:
    try:
        outcome = future.result()
    except TuningError as error:
        return Failure(DEVICE_LOST, str(error))
    if outcome.seconds is not None:
        return outcome.seconds
    assert outcome.failure is not None
    return outcome.failure
