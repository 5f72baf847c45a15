"""Top-1 and top-5: how often the right class is among the first ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..inputs import InputsError

TOPS = (1, 5)


@dataclass
class Ranks:
    """How many samples have their right class among the first ones, of two networks."""

    labels: Sequence[int] | None
    right: dict[int, int] = field(default_factory=lambda: dict.fromkeys(TOPS, 0))
    found: dict[int, int] = field(default_factory=lambda: dict.fromkeys(TOPS, 0))

    def add(self, number: int, right: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
        """Take in the outputs for a sample, of which the first are scores."""
        if self.labels is None:
            return
        for hits, outputs in ((self.right, right), (self.found, found)):
            rank = _rank(outputs[0], self.labels[number])
            for top in TOPS:
                hits[top] += rank < top


def read_labels(path: Path, count: int) -> list[int]:
    """The right classes of ``count`` samples, a number a line.

    Raises InputsError for a file that is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputsError(f"{path} cannot be read: {error}") from error
    wrong = next((line for line in lines if not line.isdecimal()), None)
    if wrong is not None:
        raise InputsError(f"{path}: a label is the number of a class, there is {wrong!r}")
    if len(lines) != count:
        raise InputsError(f"{path} has {len(lines)} labels, there are {count} inputs")
    return [int(line) for line in lines]


def _rank(scores: np.ndarray, label: int) -> int:
    """How many classes come before the right one; of equal scores those with a smaller number."""
    flat = scores.reshape(-1).astype(np.float64)
    if label >= flat.size:
        raise InputsError(f"label {label}: the network's first output has {flat.size} classes")
    return int((flat > flat[label]).sum() + (flat[:label] == flat[label]).sum())
