"""Which candidates are worth measuring: gradient-boosted trees over what programs do.

TVM's own XGBModel computes its objective in Python and trains thousands of rounds, seconds for a
few dozen measurements that take the device about as long. Candidates here are one row each, so
that XGBoost's own objective does, in milliseconds and with one thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xgboost

from .boosting import boosted_trees
from .compiling import Compiled

# With fewer measurements, of all layers together, a candidate's bound is all that is known.
_WARM_UP = 8
_ROUNDS = 30
# What a candidate that failed is taken to cost, next to its bound.
_FAILED_RATIO = 16.0
_PARAMETERS = {
    "objective": "reg:squarederror",
    "max_depth": 5,
    "eta": 0.4,
    "min_child_weight": 1,
}


class CostModel:
    """One model of all layers. It learns how far programs stay above the bound of their cycles,
    which is about alike in all layers; cycles themselves are not."""

    def __init__(self, seed: int) -> None:
        self._parameters: dict[str, Any] = {**_PARAMETERS, "seed": seed}
        self._rows: list[np.ndarray] = []
        self._labels: list[float] = []
        self._booster: xgboost.Booster | None = None

    def learn(self, compiled: Compiled, cycles: float | None) -> None:
        """Take in a measurement; None for a program that failed."""
        ratio = _FAILED_RATIO if cycles is None else cycles / compiled.least_cycles
        self._rows.append(compiled.features)
        self._labels.append(math.log(ratio))
        self._booster = None  # trained when it is asked

    def predict(self, candidates: Sequence[Compiled]) -> np.ndarray:
        """About how many cycles each takes; good for comparing candidates of one layer."""
        bounds = np.array([candidate.least_cycles for candidate in candidates], dtype=float)
        if len(self._rows) < _WARM_UP or not candidates:
            return bounds
        if self._booster is None:
            labels = np.array(self._labels)
            self._booster = boosted_trees(self._parameters, np.stack(self._rows), labels, _ROUNDS)
        rows = np.stack([candidate.features for candidate in candidates])
        return bounds * np.exp(self._booster.inplace_predict(rows))
