"""What a device computes: the types of elements and sums, and how the latter become the former."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .requantize import RequantizeRule


@dataclass(frozen=True)
class Numbers:
    """A device's numbers: products of ``element``, added up in ``sum``, which wraps around.

    element, sum : types as NumPy and TVM name them.
    rule : how a sum becomes an element.
    """

    rule: RequantizeRule
    element: str = "int8"
    sum: str = "int32"

    @property
    def least_element(self) -> int:
        """The least value of an element."""
        return int(np.iinfo(self.element).min)
