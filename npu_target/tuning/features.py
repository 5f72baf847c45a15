"""What the cost model sees of a candidate: the operator's sizes, and the work of its program."""

from __future__ import annotations

import math

import numpy as np

from ..device.cost import Work
from ..topi import Operator

_ARGUMENTS = 4


def features_of(operator: Operator, work: Work) -> np.ndarray:
    """A row of fixed length: logarithms of the elements of each argument, the output first, and
    the features of the program's work."""
    elements = [math.prod(arg.shape) for arg in reversed(operator.args)]
    padded = [*elements, *[0] * _ARGUMENTS][:_ARGUMENTS]
    return np.concatenate([np.log2(1 + np.array(padded, dtype=float)), work.features()])
