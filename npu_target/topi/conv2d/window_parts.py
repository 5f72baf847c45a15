"""How the bytes under a row of a kernel are cut into parts, each for steps of its own.

A part of as many bytes as a row of a tile has columns takes a step for every row of the
kernel.  A shorter one can be stacked: the device's repeated loads put the bytes of several lines
side by side, and one step takes them all.

The device waits for such a load by all of its rows but the last ones, which it takes to belong to
the next load.  So a part that is stacked comes last in loads, and first in steps: when a load of
the others has waited for the steps that used its rows before, those of the stack are over, too.

Where windows reach over the edge of an image that is padded by a value, the bytes beside the image
are parts as well: of rows that hold that value, one part in the tile for all of them.
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

    @property
    def size(self) -> int:
        """Bytes of all of its rows of the kernel."""
        return self.lines * self.columns

    def element(self, line: Any, column: Any, dim: int) -> tuple[Any, Any, list[Any]]:
        """For a column of a row of ``dim``, of which the first bytes are of a ``line``: the line
        and the byte under its kernel row, and conditions of there being such."""
        inside = [column < self.size] if self.size < dim else []
        if self.lines > 1:
            line, column = line + column // self.columns, column % self.columns
        return line, column + self.first, inside

    def beside(self, line: Any, row: Any, dim: int) -> tuple[Any, Any, list[Any]]:
        """The same for a row of weights that meet what is beside the image.  Past the part it goes
        on evenly from the last line, so that the zeros there are one load."""
        inside = [row < self.size] if self.size < dim else []
        if self.lines > 1:
            further = tirx.min(row // self.columns, self.lines - 1)
            line, row = line + further, row - further * self.columns
        return line, row + self.first, inside


@dataclass(frozen=True)
class Parts:
    """``number`` parts of as many ``columns`` from the first byte on, and a ``last`` one, for a
    kernel of ``kernel_rows``; those ``beside`` the image meet a value."""

    columns: int
    number: int
    last: Part
    kernel_rows: int
    beside: tuple[Part, ...] = ()

    @property
    def depth(self) -> int:
        """How many parts there are in a tile of the image."""
        return self.number + 1 + bool(self.beside)

    def steps_of(self, part: Part) -> int:
        """Steps of a part."""
        return ceil_div(self.kernel_rows, part.lines)

    @property
    def steps_of_last(self) -> int:
        """Steps of the last part, which come first."""
        return self.steps_of(self.last)

    @property
    def steps_inside(self) -> int:
        """Steps of the parts of the image; those beside it come behind them."""
        return self.steps_of_last + self.number * self.kernel_rows

    @property
    def steps(self) -> int:
        """Steps of all parts."""
        return self.steps_inside + sum(map(self.steps_of, self.beside))

    def part_of(self, step: Any) -> Any:
        """The number of the part that a step is of: of all beside the image one behind the last."""
        inside = (step - self.steps_of_last) // self.kernel_rows % (self.number + 1)
        if not self.beside:
            return inside
        return tirx.max(inside, self._is_from(self.steps_inside, step) * (self.number + 1))

    def line_of(self, step: Any) -> Any:
        """The first row of the kernel that a step takes, in a form whose bounds TVM tells.

        Beside the image all are alike: there the first step takes the first, the others the last,
        so that there is no row of the tile that no step waits for.
        """
        last = step * self.last.lines
        if not self.number and not self.beside:
            return last
        # The latter is no less in steps of the last part, and no more in the others.
        line = tirx.min(last, (step - self.steps_of_last) % self.kernel_rows)
        if not self.beside:
            return line
        is_behind = self._is_from(self.steps_inside + 1, step)
        return tirx.max(line, is_behind * (self.kernel_rows - 1))

    def _is_from(self, first: int, step: Any) -> Any:
        """1 from the ``first`` step on, 0 before."""
        return (step + self.steps - first) // self.steps


def parts_beside(first: int, end: int, kernel_rows: int, dim: int) -> tuple[Part, ...]:
    """The parts of the bytes from ``first`` to ``end``, which are beside the image: of as many rows
    of the kernel as there is room for, but not of all in one step (`Parts.line_of`)."""
    firsts = range(first, end, dim)
    sizes = [min(dim, end - start) for start in firsts]
    return tuple(
        Part(start, size, min(ceil_div(kernel_rows, 2), dim // size))
        for start, size in zip(firsts, sizes, strict=True)
    )


def window_parts(
    n_bytes: int,
    operator: Conv2d,
    steps: Steps,
    config: DeviceConfig,
    *,
    may_stack: bool,
    is_alone: bool,
) -> Parts:
    """The parts that take the fewest steps, of those the fewest parts, and of those the widest.
    ``is_alone``: whether no other tiles come into their place later."""
    choices = []
    for last in range(min(n_bytes, config.dim), 0, -1):
        left = n_bytes - last
        for columns in range(min(left, config.dim), 0, -1) if left else (1,):
            number, rest = divmod(left, columns)
            if rest == 0:
                lines = 1
                if may_stack:
                    lines = _lines(last, number, operator, steps, config, is_alone=is_alone)
                choices.append(Parts(columns, number, Part(left, last, lines), operator.kh))
    return min(choices, key=lambda parts: (parts.steps, parts.depth, -parts.columns))


def _lines(
    columns: int,
    others: int,
    operator: Conv2d,
    steps: Steps,
    config: DeviceConfig,
    *,
    is_alone: bool,
) -> int:
    """The most lines of so many bytes that a row of a tile can hold.  Bytes alone are not
    stacked: a load takes about as long for one as for several."""
    most = min(operator.kh, config.dim // columns)
    if columns == 1 or not kind_of(config).features(config).stacked_loads:
        return 1
    return next(
        lines
        for lines in range(most, 0, -1)
        if lines == 1 or _is_ordered(lines, others, operator, steps, config, is_alone=is_alone)
    )


def _is_ordered(
    lines: int,
    others: int,
    operator: Conv2d,
    steps: Steps,
    config: DeviceConfig,
    *,
    is_alone: bool,
) -> bool:
    """Whether the device keeps steps that read a stack and loads of it in their order, and behind
    these the loads of other tiles."""
    above = operator.pad[0]  # loads of padding, of all rows of which no step waits if they are few
    if others:
        # Other tiles overwrite rows past those that are read: a step has to wait for their loads,
        # which is so if the last one begins with the last row of the kernel.
        is_awaited = is_alone or (operator.kh - 1) % lines == 0
        return is_awaited and (above == 0 or above >= lines)
    # Nothing else orders them: no step may begin with one of a load's last rows.
    return (
        is_alone
        and above == 0
        and all(
            start <= _end_of_load(start, operator.h - first, config.dim) - lines
            for first, start in _step_starts(lines, operator, steps)
        )
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
    padding behind it."""
    if row < n_rows:
        return min((row // dim + 1) * dim, n_rows)
    return n_rows + ((row - n_rows) // dim + 1) * dim
