"""Values of several fields at once that are worth a try, where no field by itself is.

Told from how cycles change with each field alone, as if all changed them in proportion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from operator import itemgetter

import numpy as np

from ..device import DeviceConfig
from .problem import Problem, changed

# A step that shows how cycles change, as a share of the value.
_STEP = 0.05


def promising_pairs(
    problem: Problem, config: DeviceConfig, fields: Sequence[str], most: int
) -> list[Mapping[str, int]]:
    """New values for two of the fields, for so many pairs that promise to explain most together,
    the best first: what one of them mends the other may spoil."""
    slopes = dict(_slopes(problem, config, fields))
    left, weights = problem.residuals(config), problem.weights(config)
    pairs: list[tuple[float, dict[str, int]]] = []
    for names in combinations(slopes, 2):
        both = np.stack([slopes[name] for name in names], axis=1)
        steps, _, rank, _ = np.linalg.lstsq(both * weights[:, None], -left * weights, rcond=None)
        rounded = np.rint(steps)
        if rank == 2 and rounded.all():
            rest = float(np.sum((weights * (left + both @ rounded)) ** 2))
            pairs.append((rest, _moved(config, names, rounded)))
    return _best(config, pairs, most)


def in_place_of(
    problem: Problem,
    config: DeviceConfig,
    old: Mapping[str, int],
    others: Sequence[str],
    fields: Sequence[str],
    most: int,
) -> list[Mapping[str, int]]:
    """Values with which the config's cycles would be about the same though some fields have their
    old values again: of `others`, and of one of `fields` besides, for so many that promise most."""
    before = changed(config, old)
    if before is None or problem.cycles(before) is None:
        return []
    slopes = dict(_slopes(problem, config, (*others, *fields)))
    weights = problem.weights(config)
    lost = problem.residuals(before) - problem.residuals(config)
    found: list[tuple[float, dict[str, int]]] = []
    for field in fields:
        names = [name for name in (*others, field) if name in slopes]
        if field not in slopes:
            continue
        columns = np.stack([slopes[name] for name in names], axis=1)
        steps, *_ = np.linalg.lstsq(columns * weights[:, None], -lost * weights, rcond=None)
        rest = float(np.sum((weights * (lost + columns @ steps)) ** 2))
        found.append((rest, _moved(config, names, np.rint(steps))))
    return _best(before, found, most)


def _moved(config: DeviceConfig, names: Sequence[str], steps: np.ndarray) -> dict[str, int]:
    """The values of these fields, each by its steps, which are whole, from where it is."""
    return {
        name: int(getattr(config, name) + step) for name, step in zip(names, steps, strict=True)
    }


def _best(
    config: DeviceConfig, found: Sequence[tuple[float, dict[str, int]]], most: int
) -> list[Mapping[str, int]]:
    """So many of the values that the config can have, those that leave least first."""
    possible = (
        values
        for _, values in sorted(found, key=itemgetter(0))
        if changed(config, values) is not None
    )
    return list(islice(possible, most))


def _slopes(
    problem: Problem, config: DeviceConfig, fields: Sequence[str]
) -> Iterator[tuple[str, np.ndarray]]:
    """By field, what one more of it adds to the logarithms of cycles; of those that add any."""
    now = problem.residuals(config)
    for field in fields:
        value = int(getattr(config, field))
        step = max(1, round(_STEP * value))
        for signed in (step, -step):
            other = changed(config, {field: value + signed})
            if other is None or problem.cycles(other) is None:
                continue
            slope = (problem.residuals(other) - now) / signed
            if slope.any():
                yield field, slope
                break
