"""What tuning logs say of each layer: how it became faster, when, and by what it was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .log import DEFAULT_TRIAL, TuningLog


@dataclass(frozen=True)
class Step:
    """A measurement that was faster than all before it.

    trial : its number in the logs of its layer, 0 for the default schedule's.
    time : when, as ISO 8601; empty where the logs do not say.
    """

    cycles: int
    trial: int
    time: str
    folder: Path
    measured_by: str


@dataclass(frozen=True)
class LayerHistory:
    """Of a layer: how many candidates were measured and how many failed, by kind, and the steps by
    which it became faster, the fastest last."""

    name: str
    measured: int
    failed: dict[str, int]
    steps: tuple[Step, ...]


def histories(logs: Sequence[TuningLog]) -> list[LayerHistory]:
    """By layer, in the order in which layers first appear. What is beneath `logs` is left out."""
    measured: dict[str, int] = defaultdict(int)
    failed: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    steps: dict[str, list[Step]] = defaultdict(list)
    for log in logs:
        for entry in log.measurements:
            name, trial = entry["task"], entry.get("trial", DEFAULT_TRIAL)
            measured[name] += trial != DEFAULT_TRIAL
            if not steps[name] or entry["cycles"] < steps[name][-1].cycles:
                steps[name].append(_step(log, entry))
        for failure in log.failures:
            failed[failure["task"]][failure["kind"]] += 1
    names = dict.fromkeys([*steps, *failed])
    return [
        LayerHistory(name, measured[name], dict(failed[name]), tuple(steps[name])) for name in names
    ]


def measured_by(log: TuningLog) -> str:
    """In words: a runner's name or the simulator, and the version."""
    return f"{log.header.runner or 'simulator'}, {log.header.npu_target}"


def _step(log: TuningLog, entry: dict[str, Any]) -> Step:
    return Step(
        entry["cycles"],
        entry.get("trial", DEFAULT_TRIAL),
        entry.get("time", ""),
        log.folder,
        measured_by(log),
    )
