"""XGBoost's trees over a few hundred rows, by one thread from beginning to end.

Training and asking take about as many milliseconds as a measurement does, and OpenMP's other
threads, which have next to nothing to do, would spin through all of them: on a processor that
compiling needs. What makes XGBoost's matrices takes all processors unless it is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xgboost


def boosted_trees(
    parameters: Mapping[str, Any], rows: np.ndarray, labels: np.ndarray, rounds: int
) -> xgboost.Booster:
    """Trees that tell labels [n] from rows [n, features]; ask them with `inplace_predict`."""
    data = xgboost.DMatrix(rows, labels, nthread=1)
    return xgboost.train({**parameters, "nthread": 1}, data, rounds)
