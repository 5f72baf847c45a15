"""Which candidates are worth measuring: gradient-boosted trees over features of schedules.

TVM's own XGBModel computes its objective in Python and trains thousands of rounds, seconds for a
few dozen measurements that take the device about as long. Candidates here are one row each, so
that XGBoost's own objective does, in milliseconds and with one thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import tvm_ffi
import xgboost
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

from .features import features_of

# Below this many measurements of a layer's kind the order is random.
_WARM_UP = 12
_ROUNDS = 80
# What a candidate that failed is taken to cost, next to the best one of its layer.
_FAILED_RATIO = 16.0
_PARAMETERS = {
    "objective": "reg:squarederror",
    "max_depth": 6,
    "eta": 0.2,
    "min_child_weight": 1,
    "nthread": 1,
}


@dataclass
class _Samples:
    """The measurements of one layer. `seconds` is infinite for a failure."""

    rows: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def labels(self) -> np.ndarray:
        """Logarithms of each time over the best one."""
        seconds = np.array(self.seconds)
        best = seconds.min()
        if math.isinf(best):
            return np.full(len(seconds), math.log(_FAILED_RATIO))
        return np.log(np.minimum(seconds / best, _FAILED_RATIO))


@derived_object
class LayerCostModel(ms.cost_model.PyCostModel):
    """One model of all layers: what makes a schedule good for one often does for the next."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._parameters = {**_PARAMETERS, "seed": seed}
        self._random = np.random.default_rng(seed)
        self._samples: dict[int, _Samples] = {}
        self._booster: xgboost.Booster | None = None

    def load(self, path: str) -> None:
        """Models are not kept: the logs hold what they are made of."""
        raise NotImplementedError("LayerCostModel is trained anew from measurements")

    def save(self, path: str) -> None:
        """See `load`."""
        raise NotImplementedError("LayerCostModel is trained anew from measurements")

    def update(
        self,
        context: ms.TuneContext,
        candidates: Sequence[ms.MeasureCandidate],
        results: Sequence[ms.runner.RunnerResult],
    ) -> None:
        samples = self._samples.setdefault(tvm_ffi.structural_hash(context.mod), _Samples())
        samples.rows += [features_of(context, candidate) for candidate in candidates]
        samples.seconds += [
            math.inf
            if result.run_secs is None
            else float(np.mean([float(s) for s in result.run_secs]))
            for result in results
        ]
        self._booster = None  # trained when it is asked

    def predict(
        self, context: ms.TuneContext, candidates: Sequence[ms.MeasureCandidate]
    ) -> np.ndarray:
        """Scores from 0 to 1, higher for faster."""
        if sum(len(samples.rows) for samples in self._samples.values()) < _WARM_UP:
            return self._random.uniform(size=len(candidates))
        if self._booster is None:
            self._booster = self._trained()
        rows = np.stack([features_of(context, candidate) for candidate in candidates])
        return (
            np.exp(-self._booster.predict(xgboost.DMatrix(rows))).clip(0.0, 1.0).astype("float64")
        )

    def _trained(self) -> xgboost.Booster:
        rows = np.stack([row for samples in self._samples.values() for row in samples.rows])
        labels = np.concatenate([samples.labels() for samples in self._samples.values()])
        data = xgboost.DMatrix(rows, labels)
        return xgboost.train(self._parameters, data, num_boost_round=_ROUNDS)
