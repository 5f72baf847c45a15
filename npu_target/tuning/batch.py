"""One batch of a layer's candidates on its way: built, measured, written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm.s_tir import meta_schedule as ms

from .failure import Failure
from .measuring import Measurer, Running
from .recorder import Recorder
from .state import LayerState


@dataclass
class Batch:
    """Candidates of a layer, and after `measure` what is known of them.

    `results` is by candidate; after an interruption, and for a candidate whose program is that of
    an earlier one of this run, there is none. `records` are those of new candidates that have a
    time, `trials` counts the new candidates.
    """

    state: LayerState
    candidates: Sequence[ms.MeasureCandidate]
    results: dict[int, ms.runner.RunnerResult] = field(default_factory=dict)
    records: list[ms.database.TuningRecord] = field(default_factory=list)
    trials: int = 0

    def measure(self, measurer: Measurer, recorder: Recorder) -> None:
        """Build and run every candidate that was not measured before, and write each result down
        as it comes. Returns early when interrupted."""
        running: dict[int, Running] = {}
        taught = self.state.taught
        for index, candidate in enumerate(self.candidates):
            if measurer.interrupted():
                break
            built = measurer.build(candidate.sch.mod)
            if isinstance(built, Failure):
                self._record(recorder, index, None, as_result(built))
            elif built.digest in taught:
                measurer.discard(built)
            else:
                taught.add(built.digest)
                if built.digest in self.state.known:
                    measurer.discard(built)
                    self.results[index] = as_result(self.state.known[built.digest])
                else:
                    running[index] = measurer.run(built)
            self._finish(measurer, recorder, running, wait=False)
        while running and not measurer.interrupted():
            self._finish(measurer, recorder, running, wait=True)

    def learned(self) -> tuple[list[ms.MeasureCandidate], list[ms.runner.RunnerResult]]:
        """The candidates that have a result, and their results."""
        order = sorted(self.results)
        return [self.candidates[i] for i in order], [self.results[i] for i in order]

    def _finish(
        self, measurer: Measurer, recorder: Recorder, running: dict[int, Running], wait: bool
    ) -> None:
        for index, result in measurer.finished(running, wait):
            self._record(recorder, index, running.pop(index).built.digest, result)

    def _record(
        self, recorder: Recorder, index: int, digest: str | None, result: ms.runner.RunnerResult
    ) -> None:
        self.results[index] = result
        self.trials += 1
        record = recorder.record(self.state, self.candidates[index], digest, result)
        if record is not None:
            self.records.append(record)


def as_result(known: float | Failure) -> ms.runner.RunnerResult:
    """A known time or failure in MetaSchedule's form."""
    if isinstance(known, Failure):
        return ms.runner.RunnerResult(None, str(known))
    return ms.runner.RunnerResult([known], None)
