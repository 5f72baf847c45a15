"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Softmax
from ..converters import converts
from ..operation import UINT8_OFFSET, Affine, Operation

_LEAST_SQUARES = 1e-6  # of a vector that is normalized, as TFLite has it


@converts("SOFTMAX")
def softmax(op: Operation) -> relax.Expr:
    if not op.shape(0):
        raise op.refusal("its operand has no axis")
    beta = np.float32(op.option("beta"))
    if not op.integer:
        value = op.expression(0)
        if beta != 1:
            value = op.emit(relax.op.multiply(value, relax.const(beta)), "scaled")
        return relax.op.nn.softmax(value, axis=-1)
    value, operand = op.operand(0)
    result = op.result
    # Of uint8, TFLite's kernel takes for granted what its converter writes.
    if op.outputs[0].dtype == "uint8" and result != Affine(1 / 256, -UINT8_OFFSET):
        raise op.refusal("its uint8 result must have the scale 1/256 and the zero point 0")
    input_scale = float(np.float32(operand.scale) * beta)
    return op.emit_integer(Softmax(input_scale, result.scale, result.zero_point), [value])


@converts("LOG_SOFTMAX")
def log_softmax(op: Operation) -> relax.Expr:
    if op.integer:
        raise op.refusal("it is imported of floats only")
    return relax.op.nn.log_softmax(op.expression(0), axis=-1)


@converts("L2_NORMALIZATION")
def l2_normalization(op: Operation) -> relax.Expr:
    if op.integer:
        raise op.refusal("it is imported of floats only")
    value = op.expression(0)
    squares = op.emit(relax.op.multiply(value, value), "squares")
    total = op.emit(relax.op.sum(squares, [-1], keepdims=True), "total")
    least = relax.const(np.float32(_LEAST_SQUARES))
    length = op.emit(relax.op.sqrt(relax.op.maximum(total, least)), "length")
    return relax.op.divide(value, length)
