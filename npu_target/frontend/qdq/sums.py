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
    if convolution:
        value = _padded(builder, product.call, value, operand.zero_point, name)

    def multiply(right: np.ndarray, suffix: str) -> relax.Expr:
        constant = relax.const(np.ascontiguousarray(right))
        if convolution:
            return _convolution(
                builder, product.call, value, constant, operand.zero_point, f"{name}_{suffix}"
            )
        sums = relax.op.matmul(value, constant, out_dtype="int32")
        return builder.emit(sums, f"{name}_{suffix}")

    split = product.weight.as_int8()
    assert split is not None
    near, missing = split
    sums = multiply(near, "sums")
    if missing.any():
        # Of a channel all weights lack the same: times the sum of what they are multiplied by.
        totals = multiply(_ones(product.call, near), "totals")
        totals = _of_groups(builder, totals, weight.shape[-1], name)
        more = relax.op.multiply(totals, relax.const(missing))
        more = builder.emit(more, f"{name}_more")
        sums = builder.emit(relax.op.add(sums, more), f"{name}_whole")
    axes = (0, 1, 2) if convolution else weight.ndim - 2
    offset = -operand.zero_point * np.asarray(weight.sum(axis=axes, dtype=np.int64))
    if offset.ndim > 1:  # of several matrices: one row for each
        offset = offset[..., np.newaxis, :]
    bias = offset if product.bias is None else offset + product.bias
    return _biased(builder, sums, bias, name)


def _ones(call: relax.Call, weight: np.ndarray) -> np.ndarray:
    """Of a weight's shape, but for its last axis: one number for each group."""
    groups = int(call.attrs.groups) if call.op.name == "relax.nn.conv2d" else 1
    return np.ones((*weight.shape[:-1], groups), np.int8)


def _of_groups(
    builder: relax.BlockBuilder, totals: relax.Expr, channels: int, name: str
) -> relax.Expr:
    """One number for each channel, of one for each group; one of all stays one."""
    groups = shape_of(totals)[-1]
    if groups in (1, channels):
        return totals
    repeated = relax.op.repeat(totals, channels // groups, len(shape_of(totals)) - 1)
    return builder.emit(repeated, f"{name}_totals")


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
    return builder.emit(sums, name)


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
