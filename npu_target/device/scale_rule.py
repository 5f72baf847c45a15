"""Requantization by float32 scales: multiplied in float32, rounded half to even, saturated.

The sum is converted to float32 first, which rounds it (half to even) where it has more than 24
bits. No addition follows the multiplication without a rounding in between, so there is nothing
that a compiler could contract into a fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tvm import ir, relax, tirx
from tvm.relax.dpl import DFPattern, has_dtype, is_const, is_op

from ..relax_graph import constant_of
from .block_scales import BlockScale, match_block_scale
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

    def evaluate(self, sums: np.ndarray, scale: Scale, relu: bool = False) -> np.ndarray:
        scaled = np.rint(sums.astype(np.float32) * np.float32(scale))
        return np.clip(scaled, 0 if relu else INT8_MIN, INT8_MAX).astype(np.int8)

    def expression(
        self, value: tirx.Expr, scale: float | BlockScale, relu: bool = False
    ) -> tirx.Expr:
        factor: tirx.Expr
        if isinstance(scale, BlockScale):
            self.check(*scale.scales)
            factor = scale.expression()
        else:
            self.check(scale)
            factor = tirx.FloatImm("float32", float(np.float32(scale)))
        scaled = tirx.Cast("float32", value) * factor
        # T.round rounds half to even on the host as well.
        return saturate(tirx.round(scaled), relu)

    def match(self, expr: tirx.Expr) -> Requantized | None:
        clipped = match_saturate(expr)
        if clipped is None:
            return None
        rounded, relu = clipped
        if not (isinstance(rounded, ir.Call) and rounded.op.name == "tirx.round"):
            return None
        scale: float | BlockScale = 1.0  # a multiplication by 1 is simplified away
        source = rounded.args[0]
        if isinstance(source, tirx.Mul):
            source, factor = source.a, source.b
            of_block = match_block_scale(factor)
            if of_block is not None:
                scale = of_block
            elif isinstance(factor, tirx.FloatImm):
                scale = float(factor.value)
            else:
                return None
        return Requantized(source.value, scale, relu) if isinstance(source, tirx.Cast) else None

    def emit(
        self, builder: relax.BlockBuilder, value: relax.Expr, scale: Scale, name: str
    ) -> relax.Var:
        self.check(*np.ravel(scale).tolist())
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
        if scales is None:
            return "its scale is not constant"
        if scales.size not in (1, *scales.shape[-1:]):
            return f"scales of shape {scales.shape}, not one for each channel of the last axis"
        relu = clipped_at_0(parts)
        if isinstance(relu, str):
            return relu
        values = tuple(scales.reshape(-1).tolist())
        return Rescaling(values if len(values) > 1 else values[0], relu)


def float_to_int8(
    builder: relax.BlockBuilder, value: relax.Expr, scale: Scale, name: str
) -> relax.Var:
    """A float32 tensor in Relax, scaled, rounded half to even, saturated to int8."""
    assert np.isfinite(scale).all()
    factor = relax.const(np.asarray(scale, np.float32))
    scaled = builder.emit(relax.op.multiply(value, factor), f"{name}_scaled")
    rounded = builder.emit(relax.op.round(scaled), f"{name}_rounded")
    clipped = builder.emit(relax.op.clip(rounded, INT8_MIN, INT8_MAX), f"{name}_clipped")
    return builder.emit(relax.op.astype(clipped, "int8"), f"{name}_int8")
