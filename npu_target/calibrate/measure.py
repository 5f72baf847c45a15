"""Running experiments where the cycles are the real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ..program import Program
from .errors import CalibrationError
from .experiments import Experiment, arrays_of, expected_outputs
from .measurements import Measurements

# Runs of a program that differ by more, in the middle of all programs, tell nothing of fields whose
# effects are a few percent.
MOST_SPREAD = 0.1


class Answer(Protocol):
    """What a run says: its cycles, and the bytes of the outputs, one after the other."""

    @property
    def cycles(self) -> int: ...

    @property
    def outputs(self) -> bytes: ...


# Runs a program once, with what its arguments hold before. Raises RuntimeError.
Run = Callable[[Program, Sequence[np.ndarray]], Answer]


def measure(
    measurements: Measurements,
    run: Run,
    repeats: int,
    told: Callable[[Experiment], None] = lambda experiment: None,
    kept: Callable[[], None] = lambda: None,
) -> None:
    """Run what has not run `repeats` times yet, all once before any a second time.

    told : is called with the next experiment.
    kept : is called after each run.

    Raises CalibrationError for what `run` raises as RuntimeError, with the program's name, and for
    an answer that cannot be one: no cycles, or other bytes than the simulated device's, which is
    then not what the command runs.
    """
    for turn in range(repeats):
        for experiment, cycles in zip(measurements.experiments, measurements.cycles, strict=True):
            if len(cycles) > turn:
                continue
            told(experiment)
            try:
                answer = run(experiment.program, arrays_of(experiment.program))
            except RuntimeError as error:
                raise CalibrationError(f"{experiment.name}: {error}") from error
            _check(experiment, answer)
            cycles.append(answer.cycles)
            kept()


def _check(experiment: Experiment, answer: Answer) -> None:
    if answer.cycles < 1:
        raise CalibrationError(f"{experiment.name}: the command says {answer.cycles} cycles")
    wanted = expected_outputs(experiment.program)
    if answer.outputs != wanted:
        wrong = sum(a != b for a, b in zip(answer.outputs, wanted, strict=False))
        wrong += abs(len(answer.outputs) - len(wanted))
        raise CalibrationError(
            f"{experiment.name}: {wrong:,} of {len(wanted):,} bytes are other than the simulated "
            "device's: either another device runs, or the config does not describe it (sizes, "
            "features), or a cache holds old bytes; cycles of wrong results say nothing"
        )


def check_spread(measurements: Measurements) -> None:
    """Raise CalibrationError where runs differ so much that nothing can be fitted to them."""
    spread = measurements.spread()
    if spread is not None and spread > MOST_SPREAD:
        raise CalibrationError(
            f"the cycles of a program differ by {100 * spread:.0f} % from run to run, of which "
            f"nothing can be learnt; needs at most {100 * MOST_SPREAD:.0f} %: let nothing else run "
            "there, or fix the clock"
        )
