"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import AveragePool
from ..converters import converts
from ..operation import Operation
from .fused import fused_bounds, integer_bounds, with_activation
from .window import pad_image, window_of


@converts("AVERAGE_POOL_2D")
def average_pool_2d(op: Operation) -> relax.Expr:
    window = window_of(op, (op.option("filter_height"), op.option("filter_width")))
    if not op.integer:
        op.require_float()
        pool = relax.op.nn.avg_pool2d(
            op.expression(0),
            window.size,
            window.strides,
            window.padding,
            count_include_pad=False,
            layout="NHWC",
        )
        return with_activation(op, pool)
    op.require_same_scale()
    low, high = integer_bounds(op, fused_bounds(op))
    halves = "up" if op.tensor(0).dtype == "uint8" else "away"
    operation = AveragePool(window.size, window.strides, window.padding, low, high, halves)
    return op.emit_integer(operation, [op.expression(0)])


@converts("MAX_POOL_2D")
def max_pool_2d(op: Operation) -> relax.Expr:
    window = window_of(op, (op.option("filter_height"), op.option("filter_width")))
    image = op.expression(0)
    if not op.integer:
        pool = relax.op.nn.max_pool2d(
            image, window.size, window.strides, window.padding, layout="NHWC"
        )
        return with_activation(op, pool)
    op.require_same_scale()
    # The least int8 in the border, which is never the largest.
    image = pad_image(op, image, window.padding, -128)
    result = relax.op.nn.max_pool2d(image, window.size, window.strides, layout="NHWC")
    return within(op, result, integer_bounds(op, fused_bounds(op)))


def within(op: Operation, value: relax.Expr, bounds: tuple[int, int]) -> relax.Expr:
    """int8 kept to bounds."""
    low, high = bounds
    if low > -128:
        value = relax.op.maximum(op.emit(value, "unbounded"), relax.const(np.int8(low)))
    if high < 127:
        value = relax.op.minimum(op.emit(value, "below"), relax.const(np.int8(high)))
    return value
