"""Writing down what measurements gave, the moment they are known."""

from __future__ import annotations

import time
from typing import Any

from tvm.s_tir import meta_schedule as ms
from tvm.target import Target

from .failure import DEVICE_LOST, WRONG_RESULT, Failure
from .log import TuningLog, to_plain
from .progress import TuningProgress
from .state import LayerState


class Recorder:
    """Adds to a log, to the layers' states and to the progress display. For one thread."""

    def __init__(self, log: TuningLog, target: Target, progress: TuningProgress) -> None:
        self._log = log
        self._target = target
        self._progress = progress

    def record(
        self,
        state: LayerState,
        candidate: ms.MeasureCandidate,
        digest: str | None,
        result: ms.runner.RunnerResult,
    ) -> ms.database.TuningRecord | None:
        """Write down a result, of a program with this digest if there is one. Returns the record
        of a candidate that has a time."""
        if result.run_secs is None:
            failure = Failure.parse(str(result.error_msg))
            self._record_failure(state, candidate, digest, failure)
            return None
        seconds = mean_seconds(result)
        state.trials += 1
        state.best_seconds = min(state.best_seconds, seconds)
        record = ms.database.TuningRecord(
            candidate.sch.trace,
            ms.database.Workload(state.mod),
            [seconds],
            self._target,
            candidate.args_info,
        )
        entry = {
            "task": state.layer.name,
            "program": digest,
            "cycles": state.cycles(seconds),
            "trial": state.trials,
            "time": _now(),
        }
        self._log.add(record, entry)
        if digest is not None:
            state.known[digest] = seconds
        self._progress.trial(state.layer.name, None)
        return record

    def _record_failure(
        self,
        state: LayerState,
        candidate: ms.MeasureCandidate,
        digest: str | None,
        failure: Failure,
    ) -> None:
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
        if failure.kind != DEVICE_LOST:  # which says nothing of the candidate
            state.trials += 1
            if digest is not None:
                state.known[digest] = failure
        self._progress.trial(state.layer.name, failure.kind)


def mean_seconds(result: ms.runner.RunnerResult) -> float:
    return sum(float(seconds) for seconds in result.run_secs) / len(result.run_secs)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
