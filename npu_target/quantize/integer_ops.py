"""The integer operations, spelled in plain Relax operators that any backend can run.

Each spelling means exactly what the device computes: products summed in int32, then
``int8(clip(round(float32(sum) * scale), -128, 127))`` with a float32 scale and half-to-even
rounding. No addition follows a float32 multiplication without a rounding in between, so there
is nothing that a compiler could contract into a fused multiply-add. The partitioner recognizes
these spellings; whoever changes one changes its pattern too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.relax import BlockBuilder, Expr, Var

INT8_MIN, INT8_MAX = -128, 127


def float32_const(value: float) -> relax.Expr:
    """A scalar float32 constant."""
    return relax.const(np.float32(value))


def to_int8(builder: BlockBuilder, value: Expr, scale: float, name: str) -> Var:
    """``value`` (float32, or an integer converted to it) scaled, rounded, saturated to int8."""
    if str(value.ty.dtype) != "float32":
        value = builder.emit(relax.op.astype(value, "float32"), f"{name}_float")
    scaled = builder.emit(relax.op.multiply(value, float32_const(scale)), f"{name}_scaled")
    rounded = builder.emit(relax.op.round(scaled), f"{name}_rounded")
    clipped = builder.emit(relax.op.clip(rounded, INT8_MIN, INT8_MAX), f"{name}_clipped")
    return builder.emit(relax.op.astype(clipped, "int8"), f"{name}_int8")


def to_float(builder: BlockBuilder, value: Expr, scale: float, name: str) -> Var:
    """int8 ``value`` times its scale, in float32."""
    converted = builder.emit(relax.op.astype(value, "float32"), f"{name}_float")
    return builder.emit(relax.op.multiply(converted, float32_const(scale)), f"{name}_dequantized")


def relu(builder: BlockBuilder, value: Expr, name: str) -> Var:
    """``max(value, 0)`` of an int8 tensor."""
    return builder.emit(relax.op.maximum(value, relax.const(np.int8(0))), f"{name}_relu")


def product(builder: BlockBuilder, call: relax.Call, left: Expr, right: Expr, name: str) -> Var:
    """A float conv2d or matmul ``call`` done on int8 operands, into int32."""
    if call.op.name == "relax.matmul":
        return builder.emit(relax.op.matmul(left, right, out_dtype="int32"), name)
    attrs = call.attrs
    return builder.emit(
        relax.op.nn.conv2d(
            left,
            right,
            strides=list(attrs.strides),
            padding=list(attrs.padding),
            dilation=list(attrs.dilation),
            groups=attrs.groups,
            data_layout=attrs.data_layout,
            kernel_layout=attrs.kernel_layout,
            out_layout=attrs.out_layout,
            out_dtype="int32",
        ),
        name,
    )


def residual_add(
    builder: BlockBuilder, operands: Sequence[tuple[Expr, int]], scale: float, name: str
) -> Var:
    """``requantize(sum of value * multiplier)`` of int8 values, the sum in int32."""
    terms = []
    for side, (value, multiplier) in zip("ab", operands, strict=True):
        term = builder.emit(relax.op.astype(value, "int32"), f"{name}_{side}_int32")
        if multiplier != 1:
            factor = relax.const(np.int32(multiplier))
            term = builder.emit(relax.op.multiply(term, factor), f"{name}_{side}_multiplied")
        terms.append(term)
    return to_int8(builder, builder.emit(relax.op.add(*terms), name), scale, name)


def image_sum(builder: BlockBuilder, value: Expr, axes: tuple[int, int], name: str) -> Var:
    """The int32 sum of int8 ``value`` over two axes, which stay with extent 1."""
    wide = builder.emit(relax.op.astype(value, "int32"), f"{name}_int32")
    return builder.emit(relax.op.sum(wide, list(axes), keepdims=True), name)
