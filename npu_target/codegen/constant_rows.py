"""Rows of one value in DRAM, constants of a program's own: what tiles are filled with.

A load of such a row again and again, with a stride of 0, writes any number of rows.
"""

from __future__ import annotations

import numpy as np

from ..program import Constant


class ConstantRows:
    """The rows that a program reads, of so many elements each.

    first_argument : the place among arguments and constants of the first row.
    """

    def __init__(self, first_argument: int, elements: int, dtype: str = "int8") -> None:
        self._first_argument, self._elements, self._dtype = first_argument, elements, dtype
        self._values: list[int] = []

    def argument(self, value: int) -> int:
        """The place of the row of a value, which the program has from now on."""
        if value not in self._values:
            self._values.append(value)
        return self._first_argument + self._values.index(value)

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The rows, in the order of their places."""
        rows = [(value, np.full(self._elements, value, self._dtype)) for value in self._values]
        return tuple(Constant(_name(value), row.tobytes()) for value, row in rows)


def _name(value: int) -> str:
    if value == 0:
        return "zeros"
    return f"row_of_minus_{-value}" if value < 0 else f"row_of_{value}"
