"""How the bytes under a row of a kernel are cut into parts, each for steps of its own.

A part of as many bytes as a row of a tile has columns takes a step for every row of the
kernel.  A shorter one can be stacked: the device's repeated loads put the bytes of several lines
side by side, and one step takes them all.

The device waits for such a load by all of its rows but the last ones, which it takes to belong to
the next load.  So a part that is stacked comes last in loads, and first in steps: when a load of
the others has waited for the steps that used its rows before, those of the stack are over, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import tirx

from ...device import DeviceConfig, kind_of
from ..blocking import Steps, ceil_div

if TYPE_CHECKING:
    from .operator import Conv2d


@dataclass(frozen=True)
class Part:
    """``columns`` neighbouring bytes from the ``first`` on, of ``lines`` rows of the kernel."""

    first: int
    columns: int
    lines: int = 1

    def element(self, line: Any, column: Any, dim: int) -> tuple[Any, Any, list[Any]]:
        """For a column of a row of ``dim``, of which the first bytes are of a ``line``: the line
        and the byte under its kernel row, and conditions of there being such."""
        inside = [column < self.lines * self.columns] if self.lines * self.columns < dim else []
        if self.lines > 1:
            line, column = line + column // self.columns, column % self.columns
        return line, column + self.first, inside


@dataclass(frozen=True)
class Parts:
    """``number`` parts of as many ``columns`` from the first byte on, and a ``last`` one, for a
    kernel of ``kernel_rows``."""

    columns: int
    number: int
    last: Part
    kernel_rows: int

    @property
    def depth(self) -> int:
        """How many parts there are."""
        return self.number + 1

    @property
    def steps_of_last(self) -> int:
        """Steps of the last part, which come first."""
        return ceil_div(self.kernel_rows, self.last.lines)

    @property
    def steps(self) -> int:
        """Steps of all parts."""
        return self.steps_of_last + self.number * self.kernel_rows

    def part_of(self, step: Any) -> Any:
        """The number of the part that a step is of."""
        return (step - self.steps_of_last) // self.kernel_rows % self.depth

    def line_of(self, step: Any) -> Any:
        """The first row of the kernel that a step takes, in a form whose bounds TVM tells."""
        last = step * self.last.lines
        if not self.number:
            return last
        # The latter is no less in steps of the last part, and no more in the others.
        return tirx.min(last, (step - self.steps_of_last) % self.kernel_rows)


def window_parts(
    n_bytes: int, operator: Conv2d, steps: Steps, config: DeviceConfig, *, may_stack: bool
) -> Parts:
    """The parts that take the fewest steps, of those the fewest parts, and of those the widest."""
    choices = []
    for last in range(min(n_bytes, config.dim), 0, -1):
        left = n_bytes - last
        for columns in range(min(left, config.dim), 0, -1) if left else (1,):
            number, rest = divmod(left, columns)
            if rest == 0:
                lines = _lines(last, number, operator, steps, config) if may_stack else 1
                choices.append(Parts(columns, number, Part(left, last, lines), operator.kh))
    return min(choices, key=lambda parts: (parts.steps, parts.depth, -parts.columns))


def _lines(columns: int, others: int, operator: Conv2d, steps: Steps, config: DeviceConfig) -> int:
    """The most lines of so many bytes that a row of a tile can hold.  Bytes alone are not
    stacked: a load takes about as long for one as for several."""
    most = min(operator.kh, config.dim // columns)
    if columns == 1 or not kind_of(config).features(config).stacked_loads:
        return 1
    return next(
        lines
        for lines in range(most, 0, -1)
        if lines == 1 or _is_ordered(lines, others, operator, steps, config)
    )


def _is_ordered(
    lines: int, others: int, operator: Conv2d, steps: Steps, config: DeviceConfig
) -> bool:
    """Whether the device keeps steps that read a stack and loads of it in their order."""
    above = operator.pad[0]  # loads of zeros, of all rows of which no step waits if they are few
    if others:
        return above == 0 or above >= lines
    # Nothing else orders them: no step may begin with one of a load's last rows.
    return above == 0 and all(
        start <= _end_of_load(start, operator.h - first, config.dim) - lines
        for first, start in _step_starts(lines, operator, steps)
    )


def _step_starts(lines: int, operator: Conv2d, steps: Steps) -> Iterator[tuple[int, int]]:
    """Where a tile may begin in a column of the image, and the rows, from there on, with which its
    steps begin."""
    apart = steps.rows * operator.strides[0]
    for tile in range(steps.number):
        for step in range(steps.number - tile):
            for row in range(0, operator.kh, lines):
                yield tile * apart, step * apart + row


def _end_of_load(row: int, n_rows: int, dim: int) -> int:
    """The end of the load of a row of a tile: of the image, of which there are ``n_rows``, or of
    zeros behind it."""
    if row < n_rows:
        return min((row // dim + 1) * dim, n_rows)
    return n_rows + ((row - n_rows) // dim + 1) * dim
