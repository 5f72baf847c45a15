"""What stands between dequantize and quantize, as one integer operation each. Numbers only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from tvm import relax

from ...integer import Quantization
from .constants import Constant


@dataclass(frozen=True)
class Operand:
    """A view of integers, or a constant of them."""

    var: relax.Var | None
    numbers: Quantization
    unsigned: bool = False
    array: np.ndarray | None = field(default=None, repr=False)

    @property
    def scale(self) -> np.float32:
        return np.float32(self.numbers.scale[0])

    @property
    def zero_point(self) -> int:
        return self.numbers.zero_point[0]


@dataclass(frozen=True)
class Core:
    """An operation on integers, whose float result is ``anchor``."""

    anchor: relax.Var
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class Product(Core):
    """A convolution, or a product of matrices: ``call`` on integers, into int32.

    weight : None where both operands are views, or the constant comes first.
    scale : of the sums, float32, one or one for each index of the last axis.
    bias : int64, in steps of the sums, for each index of the last axis; zero points are not in it.
    """

    call: relax.Call
    scale: np.ndarray
    weight: Constant | None = field(default=None, repr=False)
    bias: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Add(Core):
    """``a + b``, or ``a - b``."""

    subtract: bool


@dataclass(frozen=True)
class Multiply(Core):
    """``a * b``."""


@dataclass(frozen=True)
class Average(Core):
    """The mean over ``axes``, which stay if ``keepdims``; or over windows, where ``pool`` is the
    call of a pool."""

    axes: tuple[int, ...] = ()
    keepdims: bool = True
    pool: relax.Call | None = None


@dataclass(frozen=True)
class Concat(Core):
    """Operands one after the other along ``axis``."""

    axis: int


@dataclass(frozen=True)
class Elementwise(Core):
    """A function of one element: the bindings from a view to ``anchor``, in order."""

    view: relax.Var
    bindings: tuple[relax.Var, ...]


@dataclass(frozen=True)
class Group:
    """``core``, between bounds, quantized to ``numbers``; then what moves its elements (``moves``,
    the first first).

    low, high : bounds in int8.
    """

    core: Core
    numbers: Quantization
    unsigned: bool
    low: int
    high: int
    moves: tuple[relax.Var, ...]
