"""Matrix multiplication, residual add and convolution as arithmetic on whole tensors.

What the device's loop commands have to come to, written without tiles, halves or local addresses.
Sums are exact (int64) and wrap to int32 at the end, as the accumulator does on the way.
"""

from __future__ import annotations

import numpy as np

from .device import requantize, wrap_int32


def matmul(
    a: np.ndarray,
    b: np.ndarray,
    d: np.ndarray | None,
    scale: float = 1.0,
    relu: bool = False,
    full_c: bool = False,
) -> np.ndarray:
    """a[m, k] x b[k, n] + d[m, n] in int32 (full_c), or requantized to int8."""
    total = a.astype(np.int64) @ b.astype(np.int64)
    if d is not None:
        total = total + d
    return _stored(wrap_int32(total), scale, relu, full_c)


def residual_add(
    a: np.ndarray, b: np.ndarray, scale_a: float, scale_b: float, scale: float, relu: bool
) -> np.ndarray:
    """Two int8 tensors, each scaled to int8, added, scaled and saturated."""
    scaled = [
        requantize(x.astype(np.int32), np.float32(s)) for x, s in ((a, scale_a), (b, scale_b))
    ]
    return _stored(scaled[0].astype(np.int32) + scaled[1], scale, relu, False)


def conv(
    x: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray | None,
    stride: int = 1,
    padding: int = 0,
    kernel_dilation: int = 1,
    input_dilation: int = 1,
) -> np.ndarray:
    """int32 sums [batch, rows, cols, out channels].

    x[batch, rows, cols, in channels] with input_dilation - 1 zeros between its pixels, zeros
    around it; weights[kernel rows, kernel cols, in channels, out channels]; bias[out channels].
    """
    batch, rows, cols, channels = x.shape
    dilated_rows, dilated_cols = ((n - 1) * input_dilation + 1 for n in (rows, cols))
    image = np.zeros(
        (batch, dilated_rows + 2 * padding, dilated_cols + 2 * padding, channels), np.int64
    )
    inside = image[:, padding : padding + dilated_rows, padding : padding + dilated_cols]
    inside[:, ::input_dilation, ::input_dilation] = x
    kernel_rows, kernel_cols = weights.shape[:2]
    out_rows = (image.shape[1] - (kernel_rows - 1) * kernel_dilation - 1) // stride + 1
    out_cols = (image.shape[2] - (kernel_cols - 1) * kernel_dilation - 1) // stride + 1
    total = np.zeros((batch, out_rows, out_cols, weights.shape[3]), np.int64)
    for r in range(kernel_rows):
        for c in range(kernel_cols):
            seen = image[:, r * kernel_dilation :, c * kernel_dilation :][:, ::stride, ::stride]
            total += seen[:, :out_rows, :out_cols] @ weights[r, c].astype(np.int64)
    return wrap_int32(total if bias is None else total + bias)


def max_pool(x: np.ndarray, size: int, stride: int, padding: int) -> np.ndarray:
    """Maximum over windows of x[batch, rows, cols, channels]; outside of the image counts as 0."""
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    image = np.pad(x, around)
    out_rows = (image.shape[1] - size) // stride + 1
    out_cols = (image.shape[2] - size) // stride + 1
    windows = [
        image[:, r:, c:][:, ::stride, ::stride][:, :out_rows, :out_cols]
        for r in range(size)
        for c in range(size)
    ]
    return np.maximum.reduce(windows)


def to_int8(total: np.ndarray, scale: float, relu: bool) -> np.ndarray:
    return _stored(total, scale, relu, False)


def _stored(total: np.ndarray, scale: float, relu: bool, full_c: bool) -> np.ndarray:
    if full_c:
        return total
    return requantize(np.maximum(total, 0) if relu else total, np.float32(scale))
