"""Convolutions and products of matrices of int8 into int32 sums, zero points and bias included."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...relax_graph import attr_ints, shape_of
from .groups import Average, Operand, Product


def product_sums(
    builder: relax.BlockBuilder, product: Product, inputs: list[relax.Expr], name: str
) -> relax.Expr:
    """The sums of ``product`` on int8 ``inputs``. What int32 does not hold wraps around, as it does
    in frameworks."""
    if product.weight is None:
        sums = _both_vary(builder, product.operands, inputs, name)
        return _biased(builder, sums, product.bias, name)
    (operand,), (value,) = product.operands, inputs
    weight = product.weight.centred
    convolution = product.call.op.name == "relax.nn.conv2d"
    axes = (0, 1, 2) if convolution else weight.ndim - 2
    totals = np.asarray(weight.sum(axis=axes, dtype=np.int64))
    # What int8 does not hold, int16 does: a weight less a zero point that is not 0.
    narrow = weight.min(initial=0) >= -128 and weight.max(initial=0) <= 127
    dtype = "int8" if narrow else "int16"
    if convolution:
        value = _padded(builder, product.call, value, operand.zero_point, name)
    if not narrow:
        value = builder.emit(relax.op.astype(value, dtype), f"{name}_int16")
    right = relax.const(weight.astype(dtype))
    if convolution:
        sums = _convolution(builder, product.call, value, right, operand.zero_point, name)
    else:
        sums = builder.emit(relax.op.matmul(value, right, out_dtype="int32"), f"{name}_sums")
    offset = -operand.zero_point * totals
    if offset.ndim > 1:  # of several matrices: one row for each
        offset = offset[..., np.newaxis, :]
    bias = offset if product.bias is None else offset + product.bias
    return _biased(builder, sums, bias, name)


def average_sums(
    builder: relax.BlockBuilder, average: Average, value: relax.Expr, name: str
) -> tuple[relax.Expr, int]:
    """(sums without the zero point's part, how many values are in each)."""
    (operand,) = average.operands
    if average.pool is None:
        count = int(np.prod([shape_of(value)[axis] for axis in average.axes]))
        wide = builder.emit(relax.op.astype(value, "int32"), f"{name}_int32")
        sums = relax.op.sum(wide, list(average.axes), keepdims=True)
        sums = builder.emit(sums, f"{name}_sums")
    else:
        attrs = average.pool.attrs
        value = _padded(builder, average.pool, value, operand.zero_point, name)
        height, width = attr_ints(attrs.pool_size)
        count, channels = height * width, shape_of(value)[3]
        padding = [0] * 4 if operand.zero_point else list(attr_ints(attrs.padding))
        ones = relax.const(np.ones((height, width, 1, channels), "int8"))
        sums = relax.op.nn.conv2d(
            value,
            ones,
            list(attr_ints(attrs.strides)),
            padding,
            groups=channels,
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_dtype="int32",
        )
        sums = builder.emit(sums, f"{name}_sums")
    offset = np.full(1, -operand.zero_point * count, np.int64)
    return _biased(builder, sums, offset, name), count


def centred(
    builder: relax.BlockBuilder, operand: Operand, value: relax.Expr, name: str
) -> relax.Expr:
    """int8 as int32 without its zero point."""
    wide = builder.emit(relax.op.astype(value, "int32"), f"{name}_int32")
    if operand.zero_point == 0:
        return wide
    point = relax.const(np.int32(operand.zero_point))
    return builder.emit(relax.op.subtract(wide, point), f"{name}_centred")


def _both_vary(
    builder: relax.BlockBuilder, operands: tuple[Operand, ...], inputs: list[relax.Expr], name: str
) -> relax.Expr:
    """``(a - za) @ (b - zb)`` as a product of int8 and what the zero points add."""
    left, right = inputs
    sums = builder.emit(relax.op.matmul(left, right, out_dtype="int32"), f"{name}_sums")
    depth = shape_of(left)[-1]
    for value, axis, other in ((left, -1, operands[1]), (right, -2, operands[0])):
        if other.zero_point == 0:
            continue
        wide = builder.emit(relax.op.astype(value, "int32"), f"{name}_int32")
        totals = builder.emit(relax.op.sum(wide, [axis], keepdims=True), f"{name}_totals")
        factor = relax.const(np.int32(other.zero_point))
        excess = builder.emit(relax.op.multiply(totals, factor), f"{name}_excess")
        sums = builder.emit(relax.op.subtract(sums, excess), f"{name}_less")
    both = depth * operands[0].zero_point * operands[1].zero_point
    return _biased(builder, sums, np.full(1, both, np.int64), name)


def _padded(
    builder: relax.BlockBuilder, call: relax.Call, value: relax.Expr, zero_point: int, name: str
) -> relax.Expr:
    """With a border of the zero point; as it is where that is 0, which the operator adds itself."""
    padding = attr_ints(call.attrs.padding)
    if zero_point == 0 or not any(padding):
        return value
    top, left, bottom, right = padding
    widths = [0, 0, top, bottom, left, right, 0, 0]
    return builder.emit(relax.op.nn.pad(value, widths, pad_value=zero_point), f"{name}_padded")


def _convolution(
    builder: relax.BlockBuilder,
    call: relax.Call,
    value: relax.Expr,
    weight: relax.Expr,
    zero_point: int,
    name: str,
) -> relax.Expr:
    attrs = call.attrs
    sums = relax.op.nn.conv2d(
        value,
        weight,
        list(attr_ints(attrs.strides)),
        [0] * 4 if zero_point else list(attr_ints(attrs.padding)),
        list(attr_ints(attrs.dilation)),
        int(attrs.groups),
        "NHWC",
        "HWIO",
        "NHWC",
        "int32",
    )
    return builder.emit(sums, f"{name}_sums")


def _biased(
    builder: relax.BlockBuilder, sums: relax.Expr, bias: np.ndarray | None, name: str
) -> relax.Expr:
    if bias is None or not bias.any():
        return sums
    rank = len(shape_of(sums))
    channels = shape_of(sums)[-1]
    # Modulo 2^32, as sums are.
    full = bias.reshape((1,) * (rank - bias.ndim) + bias.shape).astype(np.int32)
    full = np.broadcast_to(full, (*full.shape[: rank - 1], channels))
    return builder.emit(
        relax.op.add(sums, relax.const(np.ascontiguousarray(full))), f"{name}_biased"
    )
