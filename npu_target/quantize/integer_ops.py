"""The integer operations, spelled in plain Relax operators that any backend can run.

Each spelling means exactly what the device computes: products summed in int32, and what its rule
makes of them (`device.requantize`). The operators of `topi` recognize these spellings; whoever
changes one changes its pattern too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.relax import BlockBuilder, Expr, Var


def to_float(builder: BlockBuilder, value: Expr, scale: float, name: str) -> Var:
    """int8 ``value`` times its scale, in float32."""
    converted = builder.emit(relax.op.astype(value, "float32"), f"{name}_float")
    factor = relax.const(np.float32(scale))
    return builder.emit(relax.op.multiply(converted, factor), f"{name}_dequantized")


def relu(builder: BlockBuilder, value: Expr, name: str) -> Var:
    """``max(value, 0)`` of an int8 tensor."""
    return builder.emit(relax.op.maximum(value, relax.const(np.int8(0))), f"{name}_relu")


def cut_off(builder: BlockBuilder, value: Expr, limit: int, name: str) -> Var:
    """``min(value, limit)`` of an int8 tensor."""
    return builder.emit(relax.op.minimum(value, relax.const(np.int8(limit))), f"{name}_cut")


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
    builder: BlockBuilder, operands: Sequence[tuple[Expr, int]], constant: int, name: str
) -> Var:
    """The int32 sum of ``value * multiplier`` of int8 values, and of a constant."""
    terms = []
    for side, (value, multiplier) in zip("ab", operands, strict=True):
        term = builder.emit(relax.op.astype(value, "int32"), f"{name}_{side}_int32")
        if multiplier != 1:
            factor = relax.const(np.int32(multiplier))
            term = builder.emit(relax.op.multiply(term, factor), f"{name}_{side}_multiplied")
        terms.append(term)
    total = builder.emit(relax.op.add(*terms), name)
    if constant == 0:
        return total
    return builder.emit(relax.op.add(total, relax.const(np.int32(constant))), f"{name}_biased")


def tensor_product(builder: BlockBuilder, operands: Sequence[Expr], name: str) -> Var:
    """The int32 products of the elements of two int8 tensors, one maybe repeated along axes."""
    wide = [
        builder.emit(relax.op.astype(value, "int32"), f"{name}_{side}_int32")
        for side, value in zip("ab", operands, strict=True)
    ]
    return builder.emit(relax.op.multiply(*wide), name)


def image_sum(
    builder: BlockBuilder, value: Expr, axes: tuple[int, int], factor: int, name: str
) -> Var:
    """The int32 sum of int8 ``value`` over two axes, which stay with extent 1, times a factor."""
    wide = builder.emit(relax.op.astype(value, "int32"), f"{name}_int32")
    total = builder.emit(relax.op.sum(wide, list(axes), keepdims=True), name)
    if factor == 1:
        return total
    return builder.emit(relax.op.multiply(total, relax.const(np.int32(factor))), f"{name}_times")
