"""What a rule of requantization has to say, wherever a sum becomes an element again.

A rule is four things that mean the same, to the last bit: what NumPy computes, the expression in
TensorIR (and its recognition, for what the device is told), the operations in Relax (and theirs,
for what the device can take over), and the scales that it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from tvm import relax, tirx
from tvm.relax.dpl import DFPattern, has_dtype, is_op, wildcard

from .block_scales import BlockScale

INT8_MIN, INT8_MAX = -128, 127


# One for all, or float32 values, one for each channel of the last axis.
Scale = float | np.ndarray


class Requantized(NamedTuple):
    """An expression taken apart: the int32 ``value``, its ``scale``, whether it is clipped at 0."""

    value: tirx.Expr
    scale: float | BlockScale
    relu: bool


class Rescaling(NamedTuple):
    """What operations in Relax do to a sum: its ``scale``, or one for each channel of the last
    axis, and whether they clip it at 0."""

    scale: float | tuple[float, ...]
    relu: bool


class RequantizeRule(ABC):
    """How a device makes int8 elements of int32 sums: times a scale, rounded, saturated.

    ReLU clips at 0 instead of -128. Two rules are equal where they compute the same. A rule may
    have one scale for all channels only: it raises ValueError for others.
    """

    # Whether scales are powers of two only, so that the scales of tensors have to be.
    powers_of_two: bool = False

    @property
    def least_scale(self) -> float:
        """No scale is smaller; 0 where there is no such end."""
        return 0.0

    @property
    @abstractmethod
    def name(self) -> str:
        """In messages and reports."""

    @abstractmethod
    def refusal(self, scale: float) -> str | None:
        """Why a scale is none of the rule's, None where it is."""

    @abstractmethod
    def evaluate(self, sums: np.ndarray, scale: Scale, relu: bool = False) -> np.ndarray:
        """The int8 elements of int32 sums."""

    @abstractmethod
    def expression(
        self, value: tirx.Expr, scale: float | BlockScale, relu: bool = False
    ) -> tirx.Expr:
        """The int8 expression of an int32 one."""

    @abstractmethod
    def match(self, expr: tirx.Expr) -> Requantized | None:
        """The parts of what `expression` made, also after TVM simplified it; None of another."""

    @abstractmethod
    def emit(
        self, builder: relax.BlockBuilder, value: relax.Expr, scale: Scale, name: str
    ) -> relax.Var:
        """The int8 tensor of an int32 one in Relax, as operations that any backend can run, their
        names made of ``name``."""

    @abstractmethod
    def pattern(self, value: DFPattern, parts: dict[str, DFPattern]) -> DFPattern:
        """What `emit` makes of a value, with the freedom that importers take. Adds the patterns
        that `read` wants to ``parts``."""

    @abstractmethod
    def read(self, parts: Mapping[str, relax.Expr]) -> Rescaling | str:
        """What a match of `pattern` does, or why it is not what the device does."""

    def check(self, *scales: float) -> None:
        """Raises ValueError for a scale that is none of the rule's."""
        for scale in scales:
            reason = self.refusal(scale)
            if reason is not None:
                raise ValueError(reason)


def clipped_pattern(value: DFPattern, parts: dict[str, DFPattern]) -> DFPattern:
    """``int8(clip(value, low, high))``, with the bounds as parts."""
    parts.update({"low": wildcard(), "high": wildcard()})
    clipped = is_op("relax.clip")(value, parts["low"], parts["high"])
    return has_dtype("int8", is_op("relax.astype")(clipped))


def clipped_at_0(parts: Mapping[str, relax.Expr]) -> bool | str:
    """Whether the bounds of a match of `clipped_pattern` are those of ReLU, or why they are not
    the device's."""
    low, high = (int(parts[end].value) for end in ("low", "high"))
    if low not in (INT8_MIN, 0) or high != INT8_MAX:
        return f"clipped to {low}..{high}, the device saturates to {INT8_MIN}..{INT8_MAX}"
    return low == 0


def saturate(value: tirx.Expr, relu: bool = False) -> tirx.Expr:
    """``value`` (float32 or int32) clipped to int8, to its non-negative half with ``relu``."""
    dtype = str(value.ty.dtype)
    constant = tirx.FloatImm if dtype == "float32" else tirx.IntImm
    low, high = constant(dtype, 0 if relu else INT8_MIN), constant(dtype, INT8_MAX)
    return tirx.Cast("int8", tirx.Max(tirx.Min(value, high), low))


def match_saturate(expr: tirx.Expr) -> tuple[tirx.Expr, bool] | None:
    """The value that `saturate` was given and whether it clips at 0; None of another."""
    if not (isinstance(expr, tirx.Cast) and isinstance(expr.value, tirx.Max)):
        return None
    upper, low = expr.value.a, expr.value.b
    if str(expr.ty.dtype) != "int8" or not isinstance(upper, tirx.Min):
        return None
    bounds = (low, upper.b)
    if not all(isinstance(bound, (tirx.FloatImm, tirx.IntImm)) for bound in bounds):
        return None
    if low.value not in (0, INT8_MIN) or upper.b.value != INT8_MAX:
        return None
    return upper.a, low.value == 0
