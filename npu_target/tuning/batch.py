"""One batch of a layer's candidates on its way: measured and written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..schedule_rules.host_bounds import ranked
from .candidate import Candidate
from .failure import Failure
from .measuring import Measurer, Result, Running
from .recorder import Recorder
from .state import LayerState


@dataclass
class Batch:
    """Candidates of a layer, and after `measure` what is known of them.

    `results` is by candidate; after an interruption, and for a candidate whose program is that of
    an earlier one of this run, there is none. `measured` counts the new candidates that have a
    time, `trials` the new candidates.
    """

    state: LayerState
    candidates: Sequence[Candidate]
    results: dict[int, Result] = field(default_factory=dict)
    measured: int = 0
    trials: int = 0

    def measure(self, measurer: Measurer, recorder: Recorder) -> None:
        """Run every candidate that was not measured before, and write each result down as it
        comes. Returns early when interrupted."""
        running: dict[int, Running] = {}
        taught = self.state.taught
        for index, candidate in enumerate(self.candidates):
            compiled = candidate.compiled
            if measurer.interrupted():
                break
            if isinstance(compiled, Failure):
                self._record(recorder, index, compiled)
            elif compiled.digest not in taught:
                taught.add(compiled.digest)
                if compiled.digest in self.state.known:
                    self.results[index] = self.state.known[compiled.digest]
                else:
                    running[index] = measurer.run(self.state.layer.operator, compiled)
            self._finish(measurer, recorder, running, blocking=False)
        while running and not measurer.interrupted():
            self._finish(measurer, recorder, running, blocking=True)

    def learned(self) -> tuple[list[Candidate], list[float | None]]:
        """The candidates that have a result, and their cycles, of those over a bound of the host's
        as many more as that counts for; None for what failed."""
        order = sorted(self.results)
        return [self.candidates[i] for i in order], [self._learned(i) for i in order]

    def _learned(self, index: int) -> float | None:
        result, compiled = self.results[index], self.candidates[index].compiled
        if isinstance(result, Failure) or isinstance(compiled, Failure):
            return None
        return float(ranked(self.state.cycles(result), compiled.host))

    def _finish(
        self, measurer: Measurer, recorder: Recorder, running: dict[int, Running], blocking: bool
    ) -> None:
        for index, result in measurer.finished(running, blocking):
            del running[index]
            self._record(recorder, index, result)

    def _record(self, recorder: Recorder, index: int, result: Result) -> None:
        self.results[index] = result
        self.trials += 1
        self.measured += not isinstance(result, Failure)
        recorder.record(self.state, self.candidates[index], result)
