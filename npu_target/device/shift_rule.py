"""Requantization by an arithmetic shift: the scale is a power of two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
from tvm import relax, tirx
from tvm.relax.dpl import DFPattern, is_const, is_op

from ..relax_graph import constant_of
from .block_scales import BlockScale
from .requantize import (
    INT8_MAX,
    INT8_MIN,
    Requantized,
    RequantizeRule,
    Rescaling,
    Scale,
    clipped_at_0,
    clipped_pattern,
    match_saturate,
    saturate,
)

# Of an int32 shifted by more, eight bits or less are left: nothing to saturate.
_MOST_BITS = 23


@dataclass(frozen=True)
class ShiftRule(RequantizeRule):
    """``int8(clip((sum + 2**(s-1)) >> s))`` for a scale of ``2**-s``.

    rounds : whether half of the last bit is added before the shift, so that it rounds to the
        nearest, halves up; else it rounds down, to minus infinity.
    most_bits : the largest ``s``. The least is its negative: a shift to the left, which nothing
        rounds.

    All is int32, which wraps around. Where the sum is so near to its end that the half makes it
    wrap, compilers may compute otherwise than the device: 2**31 is no sum of a layer.
    """

    rounds: bool = True
    most_bits: int = _MOST_BITS
    powers_of_two = True

    def __post_init__(self) -> None:
        if not 1 <= self.most_bits <= _MOST_BITS:
            raise ValueError(f"most_bits is {self.most_bits}, must be 1 to {_MOST_BITS}")

    @property
    def name(self) -> str:
        return "shift, halves up" if self.rounds else "shift, down"

    @property
    def least_scale(self) -> float:
        """That of the largest shift."""
        return 2.0**-self.most_bits

    def refusal(self, scale: float) -> str | None:
        mantissa, exponent = math.frexp(scale)
        if mantissa != 0.5 or abs(1 - exponent) > self.most_bits:
            return (
                f"the scale {scale} is no power of two from 2**-{self.most_bits} to "
                f"2**{self.most_bits}, and the device requantizes by a shift"
            )
        return None

    def bits(self, scale: Scale | BlockScale) -> int:
        """How far to the right a scale shifts, negative to the left. Raises ValueError as `check`
        does, and for more than one scale."""
        if not isinstance(scale, Real):
            raise ValueError("a shift is one for all channels")
        scale = float(scale)
        self.check(scale)
        return 1 - math.frexp(scale)[1]

    def half(self, bits: int) -> int:
        """What is added before shifting to the right by so many bits."""
        return 1 << (bits - 1) if self.rounds and bits > 0 else 0

    def evaluate(self, sums: np.ndarray, scale: Scale, relu: bool = False) -> np.ndarray:
        bits = self.bits(scale)
        if bits > 0:
            shifted = (sums.astype(np.int32) + np.int32(self.half(bits))) >> bits
        else:
            shifted = sums.astype(np.int32) << -bits
        return np.clip(shifted, 0 if relu else INT8_MIN, INT8_MAX).astype(np.int8)

    def expression(
        self, value: tirx.Expr, scale: float | BlockScale, relu: bool = False
    ) -> tirx.Expr:
        bits = self.bits(scale)
        if bits < 0:
            value = value << -bits
        elif bits > 0:
            value = (value + self.half(bits) if self.half(bits) else value) >> bits
        return saturate(value, relu)

    def match(self, expr: tirx.Expr) -> Requantized | None:
        clipped = match_saturate(expr)
        if clipped is None:
            return None
        value, relu = clipped
        if str(value.ty.dtype) != "int32":
            return None
        if isinstance(value, tirx.LShift) and isinstance(value.b, tirx.IntImm):
            return Requantized(value.a, 2.0**value.b.value, relu)
        if not isinstance(value, tirx.RShift):
            return Requantized(value, 1.0, relu)
        value, shift = value.a, value.b
        if not isinstance(shift, tirx.IntImm):
            return None
        half = self.half(int(shift.value))
        if half:
            if not (isinstance(value, tirx.Add) and isinstance(value.b, tirx.IntImm)):
                return None
            if value.b.value != half:
                return None
            value = value.a
        return Requantized(value, 2.0**-shift.value, relu)

    def emit(
        self, builder: relax.BlockBuilder, value: relax.Expr, scale: Scale, name: str
    ) -> relax.Var:
        bits = self.bits(scale)
        if self.half(bits):
            half = relax.const(np.int32(self.half(bits)))
            value = builder.emit(relax.op.add(value, half), f"{name}_and_half")
        if bits:
            shift = relax.op.right_shift if bits > 0 else relax.op.left_shift
            distance = relax.const(np.int32(abs(bits)))
            value = builder.emit(shift(value, distance), f"{name}_shifted")
        clipped = builder.emit(relax.op.clip(value, INT8_MIN, INT8_MAX), f"{name}_clipped")
        return builder.emit(relax.op.astype(clipped, "int8"), f"{name}_int8")

    def pattern(self, value: DFPattern, parts: dict[str, DFPattern]) -> DFPattern:
        parts.update({"right": is_const(), "left": is_const()})
        source = value
        if self.rounds:
            parts["half"] = is_const()
            source = is_op("relax.add")(value, parts["half"])
            source |= is_op("relax.add")(parts["half"], value)
        shifted = is_op("relax.right_shift")(source, parts["right"])
        shifted |= is_op("relax.left_shift")(value, parts["left"])
        return clipped_pattern(shifted | value, parts)

    def read(self, parts: Mapping[str, relax.Expr]) -> Rescaling | str:
        relu = clipped_at_0(parts)
        if isinstance(relu, str):
            return relu
        bits = 0
        for side, sign in (("right", 1), ("left", -1)):
            if side in parts:
                values = constant_of(parts[side])
                if values is None or values.size != 1:
                    size = "unknown" if values is None else str(values.size)
                    return f"{size} shifts (per channel?), the device takes one a tensor"
                bits = sign * int(values.reshape(()))
        if "half" in parts:
            values = constant_of(parts["half"])
            if values is None or values.size != 1 or int(values.reshape(())) != self.half(bits):
                return f"what is added before shifting by {bits} bits does not round as the device"
        return Rescaling(2.0**-bits, relu)
