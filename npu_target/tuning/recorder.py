"""Writing down what measurements gave, the moment they are known."""

from __future__ import annotations

import time
from typing import Any

from .candidate import Candidate
from .failure import DEVICE_LOST, WRONG_RESULT, Failure
from .log import DEFAULT_TRIAL, TuningLog
from .progress import TuningProgress
from .routes import route_in_trace
from .state import LayerState


class Recorder:
    """Adds to a log, to the layers' states and to the progress display. For one thread."""

    def __init__(self, log: TuningLog, progress: TuningProgress) -> None:
        self._log = log
        self._progress = progress

    def record(self, state: LayerState, candidate: Candidate, result: float | Failure) -> None:
        """Write down simulated seconds, or why there are none."""
        if isinstance(result, Failure):
            self._record_failure(state, candidate, result)
            return
        state.trials += 1
        state.best_seconds = min(state.best_seconds, result)
        entry = {
            "task": state.layer.name,
            "program": candidate.digest,
            "cycles": state.cycles(result),
            "trial": state.trials,
            "time": _now(),
        }
        self._log.add_json(state.mod, state.form.record(candidate.trace, result), entry)
        if candidate.digest is not None:
            state.known[candidate.digest] = result
        self._progress.trial(state.layer.name, None)

    def record_default(self, state: LayerState, trace: Any) -> None:
        """Write down a layer's default schedule, which is no trial (its number is 0)."""
        seconds = state.default_seconds
        entry = {
            "task": state.layer.name,
            "program": None,
            "cycles": state.cycles(seconds),
            "trial": DEFAULT_TRIAL,
            "time": _now(),
        }
        self._log.add_json(state.mod, state.form.record(trace, seconds), entry)

    def _record_failure(self, state: LayerState, candidate: Candidate, failure: Failure) -> None:
        entry: dict[str, Any] = {
            "task": state.layer.name,
            "kind": failure.kind,
            "message": failure.message,
            "program": candidate.digest,
            "time": _now(),
        }
        route = route_in_trace(candidate.trace)
        if route is not None:
            entry["route"] = route
        if failure.kind == WRONG_RESULT:
            # A bug of the compiler or of the device: keep all that is needed to see it again.
            entry["trace"] = candidate.trace
        self._log.add_failure(entry)
        if failure.kind != DEVICE_LOST:  # which says nothing of the candidate
            state.trials += 1
            if candidate.digest is not None:
                state.known[candidate.digest] = failure
        kind = failure.kind if route is None else f"{failure.kind} of {route}"
        self._progress.trial(state.layer.name, kind)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
