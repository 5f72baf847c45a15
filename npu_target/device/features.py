"""What a definition of an operator may use of a device, beside its step and its memories."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class PooledStores:
    """Stores that take the maximum over windows of the rows of sums, as far as they can count.

    Windows are squares, strides the same along both dimensions; borders count as 0.
    """

    max_size: int
    max_stride: int


@dataclass(frozen=True)
class MultiplyStep:
    """The step that is `C[i, j] += A[i * row_step, k] * B[k, j]`: the extern function that its
    tensor intrinsic calls, and how many rows of C it takes at most, as definitions have it."""

    call: str
    most_rows: int


class Elementwise(Enum):
    """What a step computes of rows of sums, each element by itself.

    MAX : `C[i, j] = max(C[i, j], A[i, j])`, A being rows of sums as well.
    FILL : `C[i, j] = value`.
    """

    MAX = "max"
    FILL = "fill"


@dataclass(frozen=True)
class ElementwiseStep:
    """A step on rows of sums: what it computes, and the extern function that its tensor intrinsics
    call. The operands are C and, if there is one, A; the numbers how many rows of C there are, and
    the value, if there is one."""

    operation: Elementwise
    call: str


@dataclass(frozen=True)
class Features:
    """What a device can do that definitions make use of where it is there.

    row_elements : elements of DRAM that copies move at least, and at whose multiples they begin:
        the innermost dimension of every argument has to be a multiple.
    pooled_stores : None where stores pool nothing.
    stacked_loads : whether a load can put what it reads for one row into the rows before it as
        well, each time further to the right.
    step : None where no step of the device multiplies.
    fills_borders : whether loads can write another value than 0 where a definition has no element.
    stores_sums : whether stores can give sums as they are, not requantized.
    scales_blocks : whether each block of channels, as many as a row of the sums has elements, can
        be stored by a scale of its own.
    elementwise : its steps on rows of sums.
    """

    pooled_stores: PooledStores | None = None
    stacked_loads: bool = False
    step: MultiplyStep | None = None
    row_elements: int = 1
    elementwise: tuple[ElementwiseStep, ...] = ()
    stores_sums: bool = False
    fills_borders: bool = False
    scales_blocks: bool = False

    def elementwise_step(self, operation: Elementwise) -> ElementwiseStep | None:
        """The step that computes this, None where none does."""
        return next((step for step in self.elementwise if step.operation is operation), None)
