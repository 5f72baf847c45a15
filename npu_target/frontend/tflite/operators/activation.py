"""Activations that are operators of their own: tables of int8, or functions of floats."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax

from ....integer import Requantize
from ....integer.fixed_point import fixed_point, multiply_twice_rounded
from ....integer.table import int8_values
from ..converters import converts
from ..operation import Affine, Operation
from .fused import bounded, integer_bounds
from .hard_swish import hard_swish_values
from .pool import within
from .tables import emit_table, half_away

_BOUNDS = {
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def _hard_swish(x: relax.Expr) -> relax.Expr:
    part = relax.op.clip(relax.op.add(x, relax.const(np.float32(3))), 0.0, 6.0)
    return relax.op.divide(relax.op.multiply(x, part), relax.const(np.float32(6)))


_FLOAT: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "ABS": relax.op.abs,
    "COS": relax.op.cos,
    "ELU": lambda x: relax.op.where(
        relax.op.greater(x, relax.const(np.float32(0))),
        x,
        relax.op.subtract(relax.op.exp(x), relax.const(np.float32(1))),
    ),
    "EXP": relax.op.exp,
    "FLOOR": relax.op.floor,
    "HARD_SWISH": _hard_swish,
    "LOG": relax.op.log,
    "LOGISTIC": relax.op.sigmoid,
    "NEG": relax.op.negative,
    "RSQRT": relax.op.rsqrt,
    "SIN": relax.op.sin,
    "SQRT": relax.op.sqrt,
    "SQUARE": lambda x: relax.op.multiply(x, x),
    "TANH": relax.op.tanh,
}

_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)

# Of int8, through float32, as TFLite fills its tables.
_TABLES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ELU": lambda x: np.where(x < 0, np.expm1(x), x),
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x).astype(np.float32)),
    "TANH": np.tanh,
}


@converts(*_BOUNDS)
def relu(op: Operation) -> relax.Expr:
    bounds = _BOUNDS[op.kind]
    if not op.integer:
        return bounded(op, op.expression(0), bounds)
    value, operand = op.operand(0)
    result = op.result
    low, high = integer_bounds(op, bounds)
    if operand == result:
        return within(op, value, (low, high))
    scale = float(np.float32(operand.scale) / np.float32(result.scale))
    numbers = Requantize("tflite_double", (scale,), result.zero_point, low, high)
    return op.emit_integer(numbers, [_centred(op, value, operand)])


@converts(*_FLOAT)
def function(op: Operation) -> relax.Expr:
    if not op.integer:
        return _FLOAT[op.kind](op.expression(0))
    value, operand = op.operand(0)
    result = op.result
    if op.kind == "HARD_SWISH":
        values = hard_swish_values(operand, result, op.tensor(0).dtype)
    elif op.kind in _TABLES:
        values = _table(_TABLES[op.kind], operand, result)
    else:
        raise op.refusal("it is imported of floats only")
    return emit_table(op, value, values)


@converts("GELU")
def gelu(op: Operation) -> relax.Expr:
    approximate = bool(op.option("approximate", False))
    if not op.integer:
        gelus = relax.op.nn.gelu_tanh if approximate else relax.op.nn.gelu
        return gelus(op.expression(0))

    def of_real(x: np.ndarray) -> np.ndarray:
        # In float32 where TFLite is: results often lie halfway between two integers.
        half = np.float32(0.5) * x.astype(np.float32)
        if approximate:
            inner = np.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3)).astype(np.float32)
            return half * (np.float32(1) + inner)
        scaled = x.astype(np.float32) * np.float32(-math.sqrt(0.5))
        return half * _erfc(scaled).astype(np.float32)

    value, operand = op.operand(0)
    return emit_table(op, value, _table(of_real, operand, op.result))


@converts("LEAKY_RELU")
def leaky_relu(op: Operation) -> relax.Expr:
    alpha = np.float32(op.option("alpha"))
    if not op.integer:
        return relax.op.nn.leakyrelu(op.expression(0), float(alpha))
    value, operand = op.operand(0)
    result = op.result
    same = np.float32(operand.scale) / np.float32(result.scale)
    below = np.float32(operand.scale) * alpha / np.float32(result.scale)
    centred = int8_values().astype(np.int64) - operand.zero_point
    values = np.where(centred >= 0, _times(centred, float(same)), _times(centred, float(below)))
    return emit_table(op, value, values + result.zero_point)


@converts("PRELU")
def prelu(op: Operation) -> relax.Expr:
    if not op.integer:
        x, slopes = op.expression(0), op.expression(1)
        zero = relax.const(np.float32(0))
        below = op.emit(relax.op.multiply(relax.op.minimum(x, zero), slopes), "below")
        return relax.op.add(relax.op.nn.relu(x), below)
    (value, operand), (slopes, slope) = op.operand(0), op.operand(1)
    result = op.result
    same = np.float32(operand.scale) / np.float32(result.scale)
    other = np.float32(operand.scale) * np.float32(slope.scale) / np.float32(result.scale)
    centred = _centred(op, value, operand)
    product = op.emit(relax.op.multiply(centred, _centred(op, slopes, slope)), "product")
    above, below = (
        op.emit_integer(
            Requantize("tflite_double", (float(scale),), result.zero_point), [sums], part
        )
        for scale, sums, part in ((same, centred, "above"), (other, product, "below"))
    )
    positive = op.emit(relax.op.greater_equal(centred, relax.const(np.int32(0))), "positive")
    return relax.op.where(positive, above, below)


def _centred(op: Operation, value: relax.Expr, affine: Affine) -> relax.Expr:
    """int32, without the zero point."""
    wide = op.emit(relax.op.astype(value, "int32"), "int32")
    if affine.zero_point == 0:
        return wide
    return op.emit(relax.op.subtract(wide, relax.const(np.int32(affine.zero_point))), "centred")


def _times(values: np.ndarray, scale: float) -> np.ndarray:
    return multiply_twice_rounded(values, *map(np.int64, fixed_point(scale)))


def _table(
    function: Callable[[np.ndarray], np.ndarray], operand: Affine, result: Affine
) -> np.ndarray:
    """What a function of real numbers is of each int8. Functions are rounded to float32 from more
    bits, as a good library's are."""
    steps = (int8_values().astype(np.int32) - operand.zero_point).astype(np.float32)
    real = np.float32(operand.scale) * steps
    transformed = function(real.astype(np.float64)).astype(np.float32)
    scaled = transformed * (np.float32(1) / np.float32(result.scale))
    return half_away(scaled) + result.zero_point
