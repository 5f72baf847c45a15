"""From measurements to a config that explains them, and how far it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..device import DeviceConfig
from ..device_api import program_cycles
from ..program import Program
from .errors import CalibrationError
from .experiments import Experiment
from .fit import Fitted, Fitter
from .measurements import Measurements
from .problem import Predict, Problem, changed
from .told_apart import Change, changes_of, without_effect

# A change explains a group where the group's mean error without it is larger by so much.
_NOTICED = 0.001


@dataclass(frozen=True)
class Compared:
    """An experiment's measured cycles, and the simulator's before and after the fit."""

    experiment: Experiment
    measured: float
    before: float
    after: float

    @property
    def error_before(self) -> float:
        return self.before / self.measured - 1

    @property
    def error_after(self) -> float:
        return self.after / self.measured - 1


@dataclass(frozen=True)
class Result:
    """What came of a calibration.

    config : the fitted one.
    changes : what is different in it.
    groups_of : for each change the groups of programs that it explains, those that it explains most
        of first.
    untouched : fields that nothing measured depends on.
    """

    config: DeviceConfig
    changes: Sequence[Change]
    groups_of: dict[str, list[str]]
    untouched: Sequence[str]
    compared: Sequence[Compared]


def predicted(programs: Sequence[Program]) -> Predict:
    """The cycles of programs on another device than they were made for."""
    files = [program.to_bytes() for program in programs]

    def cycles(config: DeviceConfig) -> np.ndarray:
        return np.array([float(program_cycles(file, 0, config) or 0) for file in files])

    return cycles


def calibrate(
    measurements: Measurements,
    start: DeviceConfig,
    fields: Sequence[str],
    name: str | None = None,
    told: Callable[[Fitted], None] = lambda fitted: None,
) -> Result:
    """Fit these fields to what was measured, from the values of `start` on.

    name : of the fitted config; None is that of `start`.

    Raises CalibrationError where too little was measured.
    """
    measured = measurements.measured()
    used = [(one, cycles) for one, cycles in measured if not one.is_held_out]
    if len(used) < 2:
        raise CalibrationError("no more than one program was measured: there is nothing to fit to")
    predict = predicted([one.program for one, _ in used])
    problem = Problem(
        predict, np.array([cycles for _, cycles in used]), measurements.spread() or 0.0
    )
    fitter = Fitter(problem, start, fields, told)
    fitted = fitter.fit()
    changes = changes_of(fitter, fitted)
    config = start.replace(name=name or start.name, **fitted.values)
    everything = predicted([one.program for one, _ in measured])
    compared = [
        Compared(one, cycles, before, after)
        for (one, cycles), before, after in zip(
            measured, everything(start), everything(config), strict=True
        )
    ]
    groups = [one.group for one, _ in used]
    return Result(
        config=config,
        changes=changes,
        groups_of={change.field: _groups(problem, config, change, groups) for change in changes},
        untouched=without_effect(fitter, fitted),
        compared=compared,
    )


def _groups(
    problem: Problem, config: DeviceConfig, change: Change, groups: Sequence[str]
) -> list[str]:
    """Those whose errors are smaller with a change than without it."""
    old = changed(config, {change.field: change.now})
    if old is None or problem.cycles(old) is None:
        return []
    gains = np.abs(problem.errors(old)) - np.abs(problem.errors(config))
    means = {
        group: float(np.mean([gain for gain, of in zip(gains, groups, strict=True) if of == group]))
        for group in dict.fromkeys(groups)
    }
    found = [group for group in means if means[group] > _NOTICED]
    return sorted(found, key=lambda group: -means[group])
