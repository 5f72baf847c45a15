"""FULLY_CONNECTED and BATCH_MATMUL: products of matrices."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..converters import converts
from ..operation import Operation
from .fused import with_activation
from .sums import (
    effective_scales,
    integer_bias,
    integer_weights,
    requantized,
    with_bias,
)

_PLAIN_WEIGHTS = 0


@converts("FULLY_CONNECTED")
def fully_connected(op: Operation) -> relax.Expr:
    if op.option("weights_format", _PLAIN_WEIGHTS) != _PLAIN_WEIGHTS:
        raise op.refusal("its weights are shuffled; convert without that")
    shape = op.constant(1).shape
    if len(shape) != 2 or 0 in shape:
        raise op.refusal(f"its weights are of shape {shape}; [outputs, inputs] is needed")
    outputs, depth = shape
    taken = op.shape(0)
    rows, rest = divmod(math.prod(taken), depth)
    if rest or rows == 0:
        raise op.refusal(f"an operand of shape {taken} has no rows of {depth}")
    x = op.expression(0)
    x = x if taken == (rows, depth) else op.emit(relax.op.reshape(x, (rows, depth)), "matrix")
    result = _integer_product(op, x) if op.integer else _float_product(op, x)
    made = (*taken[:-1], outputs) if op.option("keep_num_dims", False) else (rows, outputs)
    if made == (rows, outputs):
        return result
    return relax.op.reshape(op.emit(result, "rows"), made)


def _float_product(op: Operation, x: relax.Expr) -> relax.Expr:
    weights = np.ascontiguousarray(op.float_constant(1).T)
    result = relax.op.matmul(x, relax.const(weights))
    if op.has(2):
        bias = op.float_constant(2).reshape(-1)
        result = relax.op.add(op.emit(result, "product"), relax.const(bias))
    return with_activation(op, result)


def _integer_product(op: Operation, x: relax.Expr) -> relax.Expr:
    operand = op.affine(op.tensor(0))
    weights = integer_weights(op, 1, axis=0)
    values = np.ascontiguousarray(weights.values.T)
    bias = integer_bias(op, 2, values.shape[1], operand, weights)
    bias = bias - operand.zero_point * values.sum(0, dtype=np.int64)
    sums = relax.op.matmul(x, relax.const(values), out_dtype="int32")
    if weights.zero_point != 0:
        # sum (x - zx)(w - zw): what the weights' zero point adds is the sum of the row.
        wide = op.emit(relax.op.astype(x, "int32"), "int32")
        row_sums = op.emit(relax.op.sum(wide, [1], keepdims=True), "row_sums")
        factor = relax.const(np.int32(weights.zero_point))
        excess = op.emit(relax.op.multiply(row_sums, factor), "excess")
        sums = relax.op.subtract(op.emit(sums, "products"), excess)
        bias = bias + values.shape[0] * operand.zero_point * weights.zero_point
    scales = effective_scales(op, operand, weights)
    return requantized(op, with_bias(op, sums, bias), scales, "tflite_single")


@converts("BATCH_MATMUL")
def batch_matmul(op: Operation) -> relax.Expr:
    left, right = _oriented(op, 0, "adj_x"), _oriented(op, 1, "adj_y")
    if not op.integer:
        return relax.op.matmul(left, right)
    a, b = op.affine(op.tensor(0)), op.affine(op.tensor(1))
    depth = op.shape(0)[-2 if op.option("adj_x", False) else -1]
    sums = op.emit(relax.op.matmul(left, right, out_dtype="int32"), "products")
    # sum (x - zx)(y - zy) = sum xy - zy sum x - zx sum y + depth zx zy
    for value, axis, zero_point in ((left, -1, b.zero_point), (right, -2, a.zero_point)):
        if zero_point == 0:
            continue
        wide = op.emit(relax.op.astype(value, "int32"), "int32")
        totals = op.emit(relax.op.sum(wide, [axis], keepdims=True), "totals")
        excess = op.emit(relax.op.multiply(totals, relax.const(np.int32(zero_point))), "excess")
        sums = op.emit(relax.op.subtract(sums, excess), "less")
    constant = depth * a.zero_point * b.zero_point
    if constant:
        sums = op.emit(relax.op.add(sums, relax.const(np.int32(constant))), "sums")
    scale = float(np.float32(a.scale) * np.float32(b.scale)) / op.result.scale
    return requantized(op, sums, (scale,), "tflite_double")


def _oriented(op: Operation, position: int, option: str) -> relax.Expr:
    value, rank = op.expression(position), len(op.shape(position))
    if rank < 2:
        raise op.refusal(f"its operand {position} has {rank} axes, two are needed")
    if not op.option(option, False):
        return value
    order = [*range(rank - 2), rank - 1, rank - 2]
    return op.emit(relax.op.permute_dims(value, order), "transposed")
