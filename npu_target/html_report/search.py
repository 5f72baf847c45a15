"""How a search went: of each layer the best cycles after so many measurements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..tuning.log import DEFAULT_TRIAL, TuningLog


def search_curves(log: TuningLog | None, names: Iterable[str]) -> list[dict[str, Any]]:
    """Of the layers with these names that were measured more than once.

    `steps` : measurements of the layer so far (0 for its default schedule), and the best cycles
    from there on. `trials` : how many there are, `failed` : and how many candidates failed.
    """
    counts: dict[str, int] = defaultdict(int)
    failed: dict[str, int] = defaultdict(int)
    steps: dict[str, list[list[int]]] = defaultdict(list)
    # As they came to be: what is beneath was there first.
    for part in () if log is None else (log.beneath, log):
        if part is None:
            continue
        for entry in part.measurements:
            name = entry["task"]
            counts[name] += entry.get("trial", DEFAULT_TRIAL) != DEFAULT_TRIAL
            if not steps[name] or entry["cycles"] < steps[name][-1][1]:
                steps[name].append([counts[name], entry["cycles"]])
        for failure in part.failures:
            failed[failure["task"]] += 1
    return [
        {"name": name, "trials": counts[name], "failed": failed[name], "steps": steps[name]}
        for name in names
        if counts[name] > 1
    ]
