"""TFLite's SOFTMAX of int8: exponentials and the reciprocal of their sum in fixed point.

See ``reference_ops::Softmax`` in TFLite and gemmlowp's ``fixedpoint.h``. Numbers below 1 are int32
of 31 fractional bits; those of 29 are up to 4, those of 19 up to 4096.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from tvm import te, tirx

from .below_largest import below_largest
from .fixed_point import BITS, fixed_point
from .operation import IntegerOperation, register_operation

# More exponentials than this have a sum that int32 does not hold.
MOST_ELEMENTS = (1 << 12) - 1

_ONE = (1 << BITS) - 1  # nearly
_DIFFERENCE_BITS = 26  # fractional ones, of what exponentials are taken of
_SUM_SHIFT = 12  # from 31 fractional bits to those of sums
_HALF_BITS = 29  # fractional ones, while a reciprocal is found

# exp(-1/8) and 1/3; exp(-2^k) for k from -2.
_EXP_EIGHTH, _THIRD = 1895147668, 715827883
_EXP_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
# Newton's method for 1/x with x from 1/2 to 1 begins at 48/17 - 32/17 x.
_FIRST, _SLOPE = 1515870810, -1010580540
_NEWTON_STEPS = 3


@register_operation
@dataclass(frozen=True)
class Softmax(IntegerOperation):
    """Softmax over the last axis of int8, as int8 of scale 1/256 and zero point -128.

    input_scale : the operand's, times softmax's own factor; above 2^-26. The last axis has
        `MOST_ELEMENTS` at most.
    """

    op: ClassVar[str] = "tflite_softmax"

    input_scale: float

    def __post_init__(self) -> None:
        if not 2.0**-_DIFFERENCE_BITS < self.input_scale < math.inf:
            raise ValueError(
                f"the scale must be finite and above 2^-{_DIFFERENCE_BITS}, got {self.input_scale}"
            )

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        """The exponential of what lies 0 to 255 below the largest."""
        # A difference of 1 is worth so much; what is capped is 0 behind the first.
        scale = min(self.input_scale * 2.0**_DIFFERENCE_BITS, 2.0**BITS - 1)
        mantissa, exponent = math.frexp(scale)
        multiplier, shift = fixed_point(mantissa)
        shift += exponent
        # What is further below would not fit when it is scaled.
        most = math.floor(31 * 2.0**_DIFFERENCE_BITS / 2.0**shift)
        differences = np.arange(256, dtype=np.int64)
        seen = np.minimum(differences, most)
        exponentials = _exponential(_product(-seen << shift, multiplier))
        return (np.where(differences <= most, exponentials, 0),)

    def compute(self, *values: te.Tensor) -> te.Tensor:
        value, table = values
        shape = tuple(map(int, value.shape))
        outer = (*shape[:-1], 1)
        added = te.reduce_axis((0, shape[-1]), "added")
        exponential = below_largest(value, table)

        def of_rows(name: str, function: Any, *rows: te.Tensor) -> te.Tensor:
            return te.compute(outer, lambda *at: function(*[row(*at) for row in rows]), name=name)

        sums = te.compute(
            outer,
            lambda *at: te.sum(_shifted(exponential(at, added), _SUM_SHIFT), axis=added),
            name="exponential_sums",
        )
        zeros = of_rows("leading_zeros", _leading_zeros, sums)
        half = of_rows("half_of_sums", _half, sums, zeros)
        inverse = of_rows("first_inverse", _first_inverse, half)
        for step in range(_NEWTON_STEPS):
            inverse = of_rows(f"inverse_{step}", _better_inverse, inverse, half)

        def share(*at: tirx.Expr) -> tirx.Expr:
            row = (*at[:-1], 0)
            highest = tirx.const(_ONE, "int64")
            reciprocal = tirx.min(inverse(*row) << tirx.const(1, "int64"), highest)
            result = _share(exponential(at, at[-1]), reciprocal, zeros(*row))
            return tirx.min(result, tirx.const(127, "int64")).astype("int8")

        return te.compute(shape, share, name="softmax")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (value,) = inputs
        wide = value.astype(np.int64)
        exponentials = self.constants[0][wide.max(-1, keepdims=True) - wide]
        sums = _shifted(exponentials, _SUM_SHIFT).sum(-1, keepdims=True)
        zeros = _leading_zeros(sums)
        half = _half(sums, zeros)
        inverse = _first_inverse(half)
        for _ in range(_NEWTON_STEPS):
            inverse = _better_inverse(inverse, half)
        reciprocal = np.minimum(inverse << 1, _ONE)
        return np.minimum(_share(exponentials, reciprocal, zeros), 127).astype(np.int8)


# What follows takes int64, of NumPy or as expressions, with values of int32 in them.


def _product(left: Any, right: Any) -> Any:
    """With 31 fractional bits less than the whole product, rounded half up."""
    return (left * right + (1 << (BITS - 1))) >> BITS


def _shifted(value: Any, bits: int) -> Any:
    """Of what is not negative, with fewer fractional bits, rounded half up."""
    return (value + (1 << (bits - 1))) >> bits


def _leading_zeros(sums: Any) -> Any:
    """Of sums as 32 bits. One of the exponentials is 1, so there are 1 to 12."""
    smaller = [(sums - (1 << bit)) >> 63 for bit in range(BITS - _SUM_SHIFT + 1, BITS)]
    return 1 - sum(smaller, 0)


def _half(sums: Any, zeros: Any) -> Any:
    """Sums as a number from 1/2 to 1, half of one from 1 to 2."""
    above_one = (sums << zeros) - (1 << BITS)
    return (above_one + _ONE + 1) >> 1


def _first_inverse(half: Any) -> Any:
    return _product(half, _SLOPE) + _FIRST


def _better_inverse(inverse: Any, half: Any) -> Any:
    missing = (1 << _HALF_BITS) - _product(half, inverse)
    return inverse + (_product(inverse, missing) << (BITS - _HALF_BITS))


def _share(exponential: Any, reciprocal: Any, zeros: Any) -> Any:
    """256 times an exponential's share, less 128."""
    # As many bits as the sum has above 1, and all behind the first 8.
    bits = _SUM_SHIFT - zeros + (BITS - 8)
    product = _product(exponential, reciprocal)
    return ((product + ((1 << bits) >> 1)) >> bits) - 128


def _divided(value: np.ndarray, bits: int) -> np.ndarray:
    """By a power of two, rounded half away from zero."""
    mask = (1 << bits) - 1
    return (value >> bits) + ((value & mask) > (mask >> 1) + (value < 0))


def _exponential(value: np.ndarray) -> np.ndarray:
    """Of what is not positive, of 26 fractional bits."""
    quarter = 1 << (_DIFFERENCE_BITS - 2)
    # Of the part from -1/4 to 0 by a polynomial around -1/8, the rest by factors for its bits.
    part = (value & (quarter - 1)) - quarter
    near = (part << (BITS - _DIFFERENCE_BITS)) + (1 << (BITS - 3))
    square = _product(near, near)
    cube, fourth = _product(square, near), _product(square, square)
    polynomial = _divided(_product(_divided(fourth, 2) + cube, _THIRD) + square, 1)
    result = _EXP_EIGHTH + _product(np.int64(_EXP_EIGHTH), near + polynomial)
    for bit, factor in enumerate(_EXP_POWERS, _DIFFERENCE_BITS - 2):
        has_bit = (part - value) >> bit & 1
        result = np.where(has_bit, _product(result, factor), result)
    return np.where(value == 0, _ONE, result)
