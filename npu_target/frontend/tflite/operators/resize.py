"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..converters import converts
from ..file import MOST_ELEMENTS
from ..operation import Operation
from .slices import taken
from .window import image_shape

_BITS = 10  # of a position between two pixels


@converts("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest_neighbor(op: Operation) -> relax.Expr:
    _, h, w, _ = image_shape(op, 0)
    if op.integer:
        op.require_same_scale()
    value = op.expression(0)
    for axis, extent, size in zip((1, 2), (h, w), _size(op), strict=True):
        value = op.emit(taken(value, _nearest(op, extent, size), axis), f"axis{axis}")
    return value


@converts("RESIZE_BILINEAR")
def resize_bilinear(op: Operation) -> relax.Expr:
    _, h, w, _ = image_shape(op, 0)
    if not op.integer:
        op.require_float()
        mode = "asymmetric"
        if op.option("half_pixel_centers", False):
            mode = "half_pixel"
        elif op.option("align_corners", False):
            mode = "align_corners"
        return relax.op.image.resize2d(
            op.expression(0),
            relax.ShapeExpr(_size(op)),
            layout="NHWC",
            method="linear",
            coordinate_transformation_mode=mode,
        )
    op.require_same_scale()
    if op.tensor(0).dtype == "uint8":
        raise op.refusal("it is imported of int8 and of floats; convert with int8 activations")
    value = op.emit(relax.op.astype(op.expression(0), "int32"), "int32")
    for axis, extent, size in zip((1, 2), (h, w), _size(op), strict=True):
        value = _between(op, value, axis, extent, size)
    # Rounded half away from zero.
    half = relax.const(np.int32(1 << (2 * _BITS - 1)))
    size_of = op.emit(relax.op.add(relax.op.abs(value), half), "rounded")
    steps = op.emit(relax.op.right_shift(size_of, relax.const(np.int32(2 * _BITS))), "steps")
    signed = op.emit(relax.op.multiply(relax.op.sign(value), steps), "signed")
    return relax.op.astype(signed, "int8")


def _size(op: Operation) -> tuple[int, int]:
    """Rows and columns of the result."""
    sizes = op.integers(1)
    shape = image_shape(op, 0)
    if len(sizes) != 2 or min(sizes) < 1 or shape[0] * math.prod(sizes) * shape[3] > MOST_ELEMENTS:
        raise op.refusal(f"{sizes} are no sizes of an image")
    return sizes[0], sizes[1]


def _nearest(op: Operation, extent: int, size: int) -> np.ndarray:
    """The pixel for each of the result's, in float32."""
    corners = bool(op.option("align_corners", False))
    centres = bool(op.option("half_pixel_centers", False))
    if corners and size > 1:
        scale = np.float32(extent - 1) / np.float32(size - 1)
    else:
        scale = np.float32(extent) / np.float32(size)
    offset = np.float32(0.5 if centres else 0)
    positions = (np.arange(size, dtype=np.float32) + offset) * scale
    # Positions are not negative: half away from zero is half up.
    whole = np.floor(positions.astype(np.float64) + (0.5 if corners else 0))
    return np.clip(whole, 0, extent - 1).astype(np.int32)


def _between(op: Operation, value: relax.Expr, axis: int, extent: int, size: int) -> relax.Expr:
    """Each of ``size`` rows as a mean of two, times 2^`_BITS`, as TFLite does it in integers."""
    one = 1 << _BITS
    top, bottom = (one * extent, size)
    if op.option("align_corners", False) and size > 1:
        top, bottom = one * (extent - 1), size - 1
    scale = (top + bottom // 2) // bottom
    positions = np.arange(size, dtype=np.int64) * scale
    if op.option("half_pixel_centers", False):
        positions += scale // 2 - one // 2
    lower = np.maximum(_divided(positions, one), 0)
    upper = np.minimum(_divided(positions + one - 1, one), extent - 1)
    if lower.max() >= extent or upper.min() < 0:
        raise op.refusal(f"{size} rows of {extent} reach beyond the image")
    shape = [1, 1, 1, 1]
    shape[axis] = size
    share = (positions - one * lower).astype(np.int32).reshape(shape)
    parts = []
    for rows, weights, part in ((lower, one - share, "lower"), (upper, share, "upper")):
        row = op.emit(taken(value, rows.astype(np.int32), axis), f"{part}{axis}")
        parts.append(op.emit(relax.op.multiply(row, relax.const(weights)), f"{part}{axis}_part"))
    return op.emit(relax.op.add(*parts), f"axis{axis}")


def _divided(values: np.ndarray, divisor: int) -> np.ndarray:
    """Truncated, as C divides."""
    return np.sign(values) * (np.abs(values) // divisor)
