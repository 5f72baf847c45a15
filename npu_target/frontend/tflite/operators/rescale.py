"""QUANTIZE and DEQUANTIZE: between floats and integers, and between scales of integers."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Quantize, Requantize
from ..converters import converts
from ..operation import Affine, Operation, is_quantized


@converts("QUANTIZE")
def quantize(op: Operation) -> relax.Expr:
    if not op.integer:
        raise op.refusal(
            f"its result is {op.outputs[0].dtype}, int8 and uint8 are possible: convert with int8 "
            "activations"
        )
    result = op.result
    if not is_quantized(op.tensor(0)):
        operation = Quantize(result.scale, result.zero_point)
        return op.emit_integer(operation, [op.expression(0)])
    value, operand = op.operand(0)
    return rescaled(op, value, operand)


def rescaled(op: Operation, value: relax.Expr, operand: Affine) -> relax.Expr:
    """A value as the result's scale and zero point have it, by one fixed-point product."""
    result = op.result
    if operand == result:
        return value
    wide = op.emit(relax.op.astype(value, "int32"), "int32")
    if operand.zero_point:
        zero_point = relax.const(np.int32(operand.zero_point))
        wide = op.emit(relax.op.subtract(wide, zero_point), "centred")
    scale = operand.scale / result.scale
    numbers = Requantize("tflite_double", (scale,), result.zero_point)
    return op.emit_integer(numbers, [wide])


@converts("DEQUANTIZE")
def dequantize(op: Operation) -> relax.Expr | None:
    if op.is_constant(0):
        op.make_constant(op.float_constant(0))
        return None
    value, operand = op.operand(0)
    wide = op.emit(relax.op.astype(value, "float32"), "float")
    if operand.zero_point:
        zero_point = relax.const(np.float32(operand.zero_point))
        wide = op.emit(relax.op.subtract(wide, zero_point), "centred")
    return relax.op.multiply(wide, relax.const(np.float32(operand.scale)))
