"""SOFTMAX."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Softmax
from ..converters import converts
from ..operation import Operation


@converts("SOFTMAX")
def softmax(op: Operation) -> relax.Expr:
    beta = np.float32(op.option("beta"))
    if not op.integer:
        value = op.expression(0)
        if beta != 1:
            value = op.emit(relax.op.multiply(value, relax.const(beta)), "scaled")
        return relax.op.nn.softmax(value, axis=-1)
    value, operand = op.operand(0)
    result = op.result
    input_scale = float(np.float32(operand.scale) * beta)
    return op.emit_integer(Softmax(input_scale, result.scale, result.zero_point), [value])
