"""Requantization by a float32 scale: multiplied in float32, rounded half to even, saturated.

The sum is converted to float32 first, which rounds it (half to even) where it has more than 24
bits. No addition follows the multiplication without a rounding in between, so there is nothing
that a compiler could contract into a fused multiply-add.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tvm import ir, relax, tirx
from tvm.relax.dpl import DFPattern, has_dtype, is_const, is_op

from ..relax_graph import constant_of
from .requantize import (
    INT8_MAX,
    INT8_MIN,
    Requantized,
    RequantizeRule,
    Rescaling,
    clipped_at_0,
    clipped_pattern,
    match_saturate,
    saturate,
)

_FLOAT32_MAX = (2 - 2**-23) * 2.0**127


@dataclass(frozen=True)
class ScaleRule(RequantizeRule):
    """``int8(clip(round_half_even(float32(sum) * scale)))``; any finite float32 scale."""

    @property
    def name(self) -> str:
        return "float32 scale, half to even"

    def refusal(self, scale: float) -> str | None:
        if abs(scale) <= _FLOAT32_MAX:
            return None
        return f"the scale {scale} is not finite in float32"

    def evaluate(self, sums: np.ndarray, scale: float, relu: bool = False) -> np.ndarray:
        scaled = np.rint(sums.astype(np.float32) * np.float32(scale))
        return np.clip(scaled, 0 if relu else INT8_MIN, INT8_MAX).astype(np.int8)

    def expression(self, value: tirx.Expr, scale: float, relu: bool = False) -> tirx.Expr:
        self.check(scale)
        scaled = tirx.Cast("float32", value) * tirx.FloatImm("float32", float(np.float32(scale)))
        # T.round rounds half to even on the host as well.
        return saturate(tirx.round(scaled), relu)

    def match(self, expr: tirx.Expr) -> Requantized | None:
        clipped = match_saturate(expr)
        if clipped is None:
            return None
        rounded, relu = clipped
        if not (isinstance(rounded, ir.Call) and rounded.op.name == "tirx.round"):
            return None
        source, scale = rounded.args[0], 1.0  # a multiplication by 1 is simplified away
        if isinstance(source, tirx.Mul):
            if not isinstance(source.b, tirx.FloatImm):
                return None
            source, scale = source.a, float(source.b.value)
        return Requantized(source.value, scale, relu) if isinstance(source, tirx.Cast) else None

    def emit(
        self, builder: relax.BlockBuilder, value: relax.Expr, scale: float, name: str
    ) -> relax.Var:
        self.check(scale)
        converted = builder.emit(relax.op.astype(value, "float32"), f"{name}_float")
        return float_to_int8(builder, converted, scale, name)

    def pattern(self, value: DFPattern, parts: dict[str, DFPattern]) -> DFPattern:
        parts["scale"] = is_const()
        converted = has_dtype("float32", is_op("relax.astype")(value))
        scaled = is_op("relax.multiply")(converted, parts["scale"])
        scaled |= is_op("relax.multiply")(parts["scale"], converted)
        return clipped_pattern(is_op("relax.round")(scaled), parts)

    def read(self, parts: Mapping[str, relax.Expr]) -> Rescaling | str:
        scales = constant_of(parts["scale"])
        if scales is None or scales.size != 1:
            size = "unknown" if scales is None else str(scales.size)
            return f"{size} requantize scales (per channel?), the device takes one a tensor"
        relu = clipped_at_0(parts)
        return relu if isinstance(relu, str) else Rescaling(float(scales.reshape(())), relu)


def float_to_int8(
    builder: relax.BlockBuilder, value: relax.Expr, scale: float, name: str
) -> relax.Var:
    """A float32 tensor in Relax, scaled, rounded half to even, saturated to int8."""
    assert math.isfinite(scale)
    factor = relax.const(np.float32(scale))
    scaled = builder.emit(relax.op.multiply(value, factor), f"{name}_scaled")
    rounded = builder.emit(relax.op.round(scaled), f"{name}_rounded")
    clipped = builder.emit(relax.op.clip(rounded, INT8_MIN, INT8_MAX), f"{name}_clipped")
    return builder.emit(relax.op.astype(clipped, "int8"), f"{name}_int8")
