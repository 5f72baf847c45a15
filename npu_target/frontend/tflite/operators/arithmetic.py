"""ADD, SUB, MUL and other operators of two operands, element by element."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Add
from ..converters import converts
from ..operation import Operation
from .fused import fused_bounds, integer_bounds, with_activation
from .sums import requantized

_FLOAT = {
    "ADD": relax.op.add,
    "SUB": relax.op.subtract,
    "MUL": relax.op.multiply,
    "DIV": relax.op.divide,
    "MAXIMUM": relax.op.maximum,
    "MINIMUM": relax.op.minimum,
    "POW": relax.op.power,
}
_NUMPY = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
}


@converts("ADD", "SUB")
def add(op: Operation) -> relax.Expr | None:
    if not op.integer:
        return _plain(op)
    (left, a), (right, b) = op.operand(0), op.operand(1)
    low, high = integer_bounds(op, fused_bounds(op))
    operation = Add(
        scales=(a.scale, b.scale),
        zero_points=(a.zero_point, b.zero_point),
        scale=op.result.scale,
        zero_point=op.result.zero_point,
        low=low,
        high=high,
        subtract=op.kind == "SUB",
    )
    return op.emit_integer(operation, [left, right])


@converts("MUL")
def multiply(op: Operation) -> relax.Expr | None:
    if not op.integer:
        return _plain(op)
    factors, scale = [], np.float32(1)
    for position, side in enumerate("ab"):
        value, affine = op.operand(position)
        scale = scale * np.float32(affine.scale)
        wide = op.emit(relax.op.astype(value, "int32"), f"{side}_int32")
        if affine.zero_point:
            zero_point = relax.const(np.int32(affine.zero_point))
            wide = op.emit(relax.op.subtract(wide, zero_point), f"{side}_centred")
        factors.append(wide)
    products = op.emit(relax.op.multiply(*factors), "products")
    return requantized(op, products, (float(scale) / op.result.scale,), "tflite_double")


@converts("DIV", "POW")
def float_only(op: Operation) -> relax.Expr | None:
    if op.integer:
        raise op.refusal("it is imported of floats only")
    return _plain(op)


@converts("SQUARED_DIFFERENCE")
def squared_difference(op: Operation) -> relax.Expr:
    if op.integer:
        raise op.refusal("it is imported of floats only")
    difference = op.emit(relax.op.subtract(op.expression(0), op.expression(1)), "difference")
    return relax.op.multiply(difference, difference)


@converts("MAXIMUM", "MINIMUM")
def extreme(op: Operation) -> relax.Expr | None:
    if op.integer:
        for position in (0, 1):
            op.require_same_scale(position)
        return _FLOAT[op.kind](op.expression(0), op.expression(1))
    return _plain(op)


def _plain(op: Operation) -> relax.Expr | None:
    """Of floats, and of integers that stand for themselves."""
    integers = op.outputs[0].dtype in ("int32", "int64")
    if integers and op.is_constant(0) and op.is_constant(1) and op.kind in _NUMPY:
        op.make_constant(_NUMPY[op.kind](op.constant(0), op.constant(1)))
        return None
    return with_activation(op, _FLOAT[op.kind](op.expression(0), op.expression(1)))
