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
from .programs import CompiledPrograms

# Below this many measurements of a layer its candidates are taken in random order.
_WARM_UP = 8
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
        """Logarithms of the times, at least one of which must be finite."""
        seconds = np.array(self.seconds)
        return np.log(np.minimum(seconds, _FAILED_RATIO * seconds.min()))


@derived_object
class LayerCostModel(ms.cost_model.PyCostModel):
    """One model of all layers: equal work takes about equal time in any of them.

    `programs` has what candidates compile to, since the search compiled them.
    """

    def __init__(self, seed: int, programs: CompiledPrograms) -> None:
        super().__init__()
        self._parameters = {**_PARAMETERS, "seed": seed}
        self._random = np.random.default_rng(seed)
        self._programs = programs
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
        samples = self._samples.setdefault(_layer_key(context), _Samples())
        for candidate, result in zip(candidates, results, strict=True):
            row = self._row(context, candidate)
            if row is not None:
                seconds = result.run_secs
                samples.rows.append(row)
                samples.seconds.append(
                    math.inf if seconds is None else float(np.mean([float(s) for s in seconds]))
                )
        self._booster = None  # trained when it is asked

    def predict(
        self, context: ms.TuneContext, candidates: Sequence[ms.MeasureCandidate]
    ) -> np.ndarray:
        """Scores from 0 to 1, higher for faster, 1 for the best of these candidates."""
        known = self._samples.get(_layer_key(context))
        if known is None or np.isfinite(known.seconds).sum() < _WARM_UP:
            return self._random.uniform(size=len(candidates))
        if self._booster is None:
            self._booster = self._trained()
        rows = [self._row(context, candidate) for candidate in candidates]
        usable = [row for row in rows if row is not None]
        scores = np.zeros(len(candidates))
        if usable:
            times = self._booster.predict(xgboost.DMatrix(np.stack(usable)))
            scores[[row is not None for row in rows]] = np.exp(times.min() - times)
        return scores

    def _row(self, context: ms.TuneContext, candidate: ms.MeasureCandidate) -> np.ndarray | None:
        """The candidate's features; None for one that was not compiled lately."""
        program = self._programs.get(candidate.sch.mod["main"])
        return None if program is None else features_of(context, candidate, program)

    def _trained(self) -> xgboost.Booster:
        usable = [s for s in self._samples.values() if np.isfinite(s.seconds).any()]
        rows = np.stack([row for samples in usable for row in samples.rows])
        labels = np.concatenate([samples.labels() for samples in usable])
        data = xgboost.DMatrix(rows, labels)
        return xgboost.train(self._parameters, data, num_boost_round=_ROUNDS)


def _layer_key(context: ms.TuneContext) -> int:
    return tvm_ffi.structural_hash(context.mod)
