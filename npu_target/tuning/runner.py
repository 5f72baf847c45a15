"""MetaSchedule's runner for the device: programs are measured on all servers of a tracker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

from ..packing import Packing
from .builder import OPERATOR_FILE, PACKINGS_FILE
from .errors import TuningError
from .failure import DEVICE_LOST, Failure
from .function import Measurable
from .pool import DevicePool
from .session import Job, Outcome
from .workload import load_measured


@derived_object
class NpuRunnerFuture(ms.runner.PyRunnerFuture):
    """The coming result of one measurement."""

    def __init__(self, outcome: Future[Outcome]) -> None:
        super().__init__()
        self._outcome = outcome

    def done(self) -> bool:
        return self._outcome.done()

    def result(self) -> ms.runner.RunnerResult:
        try:
            outcome = self._outcome.result()
        except TuningError as error:
            return ms.runner.RunnerResult(None, str(Failure(DEVICE_LOST, str(error))))
        if outcome.seconds is None:
            return ms.runner.RunnerResult(None, str(outcome.failure))
        return ms.runner.RunnerResult([outcome.seconds], None)


@derived_object
class NpuRunner(ms.runner.PyRunner):
    """Measures the artifacts of NpuBuilder on the servers of a pool.

    The inputs are drawn from `seed`. A run fails as timed_out past `timeout_seconds` of real
    time, or past the simulated cycles that `limit_cycles` set for its operator. Error messages
    begin with their kind, as `str(Failure)` does.
    """

    def __init__(self, pool: DevicePool, seed: int = 0, timeout_seconds: float = 30.0) -> None:
        super().__init__()
        self._pool = pool
        self._seed = seed
        self._timeout_seconds = timeout_seconds
        self._max_cycles: dict[Measurable, int] = {}

    def limit_cycles(self, operator: Measurable, max_cycles: int) -> None:
        """End runs of an operator that take more simulated cycles than this."""
        self._max_cycles[operator] = max_cycles

    def run(self, runner_inputs: Sequence[ms.runner.RunnerInput]) -> list[ms.runner.RunnerFuture]:
        return [self._run_one(Path(str(item.artifact_path))) for item in runner_inputs]

    def _run_one(self, artifact: Path) -> ms.runner.RunnerFuture:
        operator = load_measured(artifact.with_name(OPERATOR_FILE))
        layouts = json.loads(artifact.with_name(PACKINGS_FILE).read_text(encoding="utf-8"))
        job = Job(
            # Read now: the file may be gone when a server is free.
            artifact.read_bytes(),
            operator.name,
            operator,
            self._seed,
            self._timeout_seconds,
            self._max_cycles.get(operator, 0),
            {name: Packing.from_json(text) for name, text in layouts.items()},
        )
        return NpuRunnerFuture(self._pool.submit(job))
