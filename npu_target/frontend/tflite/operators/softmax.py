"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Softmax
from ....integer.softmax import MOST_ELEMENTS
from ..converters import converts
from ..operation import UINT8_OFFSET, Operation

_SCALE_TOLERANCE = 0.001  # as TFLite's kernel has it
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
    # TFLite's kernel asks this of int8, and takes it for granted of uint8.
    if abs(256 * result.scale - 1) > _SCALE_TOLERANCE or result.zero_point != -UINT8_OFFSET:
        lowest = 0 if op.outputs[0].dtype == "uint8" else -UINT8_OFFSET
        raise op.refusal(f"its result must have the scale 1/256 and the zero point {lowest}")
    if op.shape(0)[-1] > MOST_ELEMENTS:
        raise op.refusal(f"its rows have {op.shape(0)[-1]} elements, {MOST_ELEMENTS} are possible")
    return op.emit_integer(Softmax(float(operand.scale) * float(beta)), [value])


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
