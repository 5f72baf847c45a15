"""Softmax of int8: ONNX Runtime's QLinearSoftmax."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tvm import relax

from ...integer import LinearSoftmax, emit
from ...relax_graph import shape_of


@dataclass(frozen=True)
class IntegerSoftmax:
    """Softmax over ``axis``, or with ``whole`` over that and all behind it as one. The scales, and
    the zero point of the result, are those of int8."""

    input_scale: float
    scale: float
    zero_point: int
    axis: int
    whole: bool

    def emit(self, builder: relax.BlockBuilder, value: relax.Expr, name: str) -> relax.Expr:
        """The result, int8."""
        shape = shape_of(value)
        axis = self.axis % max(len(shape), 1)
        order = list(range(len(shape)))
        if self.whole:
            value = builder.emit(relax.op.reshape(value, (*shape[:axis], prod(shape[axis:]))))
        elif axis != len(shape) - 1:
            order[axis], order[-1] = order[-1], order[axis]
            value = builder.emit(relax.op.permute_dims(value, order))
        length = shape_of(value)[-1]
        operation = LinearSoftmax(self.input_scale, self.scale, self.zero_point, length)
        result: relax.Expr = emit(builder, operation, [value], name)
        if self.whole:
            return relax.op.reshape(result, shape)
        return relax.op.permute_dims(result, order) if order != sorted(order) else result
