"""TFLite's AVERAGE_POOL_2D: the mean of what of a window lies in the image, in integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm import te, tirx

from .operation import IntegerOperation, register_operation

# Where a mean lies halfway between two integers: away from zero (TFLite of int8), or up (of uint8,
# which is int8 128 higher).
HALVES = ("away", "up")


@register_operation
@dataclass(frozen=True)
class AveragePool(IntegerOperation):
    """The mean over windows of an int8 image [n, h, w, c], with the scale and zero point of it.

    window, strides : (rows, columns).
    padding : top, left, bottom, right; what lies there does not count.
    halves : one of `HALVES`.

    Raises
    ------
    ValueError
        for numbers that make no window.
    """

    op: ClassVar[str] = "tflite_average_pool"

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    low: int = -128
    high: int = 127
    halves: str = "away"

    def __post_init__(self) -> None:
        if min(*self.window, *self.strides) < 1 or min(self.padding) < 0:
            raise ValueError(
                f"no window of {self.window}, strides {self.strides}, padding {self.padding}"
            )
        (rows, columns), (top, left, bottom, right) = self.window, self.padding
        if max(top, bottom) >= rows or max(left, right) >= columns:
            raise ValueError(f"padding {self.padding} holds whole windows of {self.window}")
        if self.halves not in HALVES:
            raise ValueError(f"halves are rounded {' or '.join(HALVES)}, not {self.halves!r}")

    def _out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        batch, height, width, channels = shape
        top, left, bottom, right = self.padding
        return (
            batch,
            (height + top + bottom - self.window[0]) // self.strides[0] + 1,
            (width + left + right - self.window[1]) // self.strides[1] + 1,
            channels,
        )

    def compute(self, *values: te.Tensor) -> te.Tensor:
        (image,) = values
        _, height, width, _ = shape = tuple(map(int, image.shape))
        top, left, *_ = self.padding
        (rows, columns), (down, across) = self.window, self.strides
        out_shape = self._out_shape(shape)
        i, j = te.reduce_axis((0, rows), "i"), te.reduce_axis((0, columns), "j")

        def inside(n: tirx.Expr, y: tirx.Expr, x: tirx.Expr, c: tirx.Expr) -> tirx.Expr:
            row, column = y * down + i - top, x * across + j - left
            within = tirx.all(row >= 0, row < height, column >= 0, column < width)
            element = image(n, row, column, c).astype("int32")
            return tirx.if_then_else(within, element, tirx.const(0, "int32"))

        sums = te.compute(
            out_shape, lambda *at: te.sum(inside(*at), axis=[i, j]), name="window_sums"
        )

        def mean(n: tirx.Expr, y: tirx.Expr, x: tirx.Expr, c: tirx.Expr) -> tirx.Expr:
            count = _overlap(y * down - top, rows, height) * _overlap(
                x * across - left, columns, width
            )
            total = sums(n, y, x, c)
            half = tirx.floordiv(count, tirx.const(2, "int32"))
            if self.halves == "away":
                zero = tirx.const(0, "int32")
                rounded = total + tirx.Select(total > zero, half, -half)
                result = tirx.truncdiv(rounded, count)
            else:
                result = tirx.floordiv(total + half, count)
            low, high = tirx.const(self.low, "int32"), tirx.const(self.high, "int32")
            return tirx.max(tirx.min(result, high), low).astype("int8")

        return te.compute(out_shape, mean, name="average_pool")

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        (image,) = inputs
        top, left, bottom, right = self.padding
        wide = np.pad(image.astype(np.int32), ((0, 0), (top, bottom), (left, right), (0, 0)))
        counted = np.pad(np.ones(image.shape[1:3], np.int32), ((top, bottom), (left, right)))
        axes = (slice(None, None, self.strides[0]), slice(None, None, self.strides[1]))
        windows = np.lib.stride_tricks.sliding_window_view
        totals = windows(wide, self.window, (1, 2))[:, axes[0], axes[1]].sum((-2, -1))
        counts = windows(counted, self.window)[axes].sum((-2, -1))[..., None]
        if self.halves == "away":
            means = np.sign(totals) * ((np.abs(totals) + counts // 2) // counts)
        else:
            means = (totals + counts // 2) // counts
        return np.clip(means, self.low, self.high).astype(np.int8)


def _overlap(start: tirx.Expr, length: int, extent: int) -> tirx.Expr:
    """How many of ``length`` positions from ``start`` on lie in 0..``extent``."""
    zero = tirx.const(0, "int32")
    return tirx.min(start + length, tirx.const(extent, "int32")) - tirx.max(start, zero)
