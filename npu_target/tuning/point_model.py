"""Which points are worth compiling, told from their tile sizes and what sets structures apart."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np

from ..schedule_rules.traces import Structure
from .boosting import boosted_trees
from .points import Point

_MOST_TRAITS = 48
_LEAST_KNOWN = 12
_ROUNDS = 25
# What cannot be compiled or run is taken to cost, next to the best.
FAILED_RATIO = 16.0


class PointModel:
    """Learns from every point that was compiled or measured, of one layer."""

    def __init__(self, structures: Sequence[Structure], seed: int) -> None:
        self._structures = structures
        self._traits = _traits(structures)
        self._most_tiles = max((len(s.extents) for s in structures), default=0)
        self._parameters = {"max_depth": 5, "eta": 0.3, "seed": seed}
        self._cycles: dict[Point, float] = {}

    def learn(self, point: Point, cycles: float) -> None:
        """Cycles that were measured, or a bound of them; infinite for what cannot run. The latest
        of a point counts."""
        self._cycles[point] = cycles

    def best_of(self, points: Sequence[Point], count: int) -> list[Point]:
        """The `count` points that promise most; the first ones as long as little is known."""
        finite = [cycles for cycles in self._cycles.values() if math.isfinite(cycles)]
        if len(finite) < _LEAST_KNOWN or len(points) <= count:
            return list(points[:count])
        most = FAILED_RATIO * min(finite)
        labels = np.log(np.minimum(list(self._cycles.values()), most))
        rows = np.stack([self._row(point) for point in self._cycles])
        booster = boosted_trees(self._parameters, rows, labels, _ROUNDS)
        predicted = booster.inplace_predict(np.stack([self._row(point) for point in points]))
        return [points[index] for index in np.argsort(predicted, kind="stable")[:count]]

    def _row(self, point: Point) -> np.ndarray:
        extents = self._structures[point.structure].extents
        inner = [math.log2(tile) for tile in point.tiles]
        outer = [math.log2(e // tile) for e, tile in zip(extents, point.tiles, strict=True)]
        missing = [-1.0] * (self._most_tiles - len(inner))
        return np.array([*inner, *missing, *outer, *missing, *self._traits[point.structure]])


def _traits(structures: Sequence[Structure]) -> np.ndarray:
    """By structure, which of the instructions it has that not all have; those that go together
    once, the most telling first."""
    texts = [{json.dumps(one) for one in structure.instructions} for structure in structures]
    columns = {tuple(text in has for has in texts) for text in sorted(set().union(*texts))}
    half = len(structures) / 2
    telling = sorted(columns, key=lambda column: (abs(sum(column) - half), column))
    chosen = [column for column in telling if 0 < sum(column) < len(structures)][:_MOST_TRAITS]
    return np.array(chosen, dtype=float).reshape(len(chosen), len(structures)).T
