"""Inputs to try an operator with, and what it computes of them: the yardstick of every measured
candidate."""

from __future__ import annotations

import numpy as np

from ..device.numbers import Numbers
from ..topi.operator import Arrays
from .function import Measurable


def sample_inputs(operator: Measurable, seed: int) -> dict[str, np.ndarray]:
    """Arrays for the operator's input arguments, by name, the same for the same seed."""
    return operator.sample(np.random.default_rng(seed))


def expected_output(operator: Measurable, inputs: Arrays, numbers: Numbers) -> np.ndarray:
    """The operator's output for `inputs` (its input arguments by name), with a device's numbers."""
    shape = next(arg.shape for arg in operator.args if arg.role == "output")
    return operator.reference(inputs, numbers).reshape(shape)


def difference(actual: np.ndarray, expected: np.ndarray) -> str:
    """How many elements of two arrays differ, and the first that does; empty if none."""
    wrong = np.argwhere(actual != expected)
    if not len(wrong):
        return ""
    place = tuple(int(index) for index in wrong[0])
    return (
        f"{len(wrong)} of {expected.size} elements differ, the first at {list(place)}: "
        f"{actual[place]} instead of {expected[place]}"
    )
