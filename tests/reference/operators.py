"""Every operator in plain NumPy: written from what the device computes, without the package that
is under test. Sums are exact (int64), then wrapped to 32 bits as the accumulator holds them.
"""

from __future__ import annotations

import numpy as np

Pad = tuple[int, int, int, int]  # top, left, bottom, right


def wrapped(total: np.ndarray) -> np.ndarray:
    """int64 modulo 2**32, as int32."""
    return (total & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def requantized(accumulator: np.ndarray, scale: float | None, relu: bool = False) -> np.ndarray:
    """float32(accumulator) * float32(scale) in float32, half to even, saturated, then ReLU; without
    a scale the sums themselves."""
    if scale is None:
        return accumulator
    with np.errstate(over="ignore"):
        product = accumulator.astype(np.float32) * np.float32(scale)
    result = np.clip(np.rint(product), -128, 127).astype(np.int8)
    return np.maximum(result, np.int8(0)) if relu else result


def padded(x: np.ndarray, pad: Pad, value: int = 0) -> np.ndarray:
    n, h, w, c = x.shape
    top, left, bottom, right = pad
    image = np.full((n, top + h + bottom, left + w + right, c), value, x.dtype)
    image[:, top : top + h, left : left + w] = x
    return image


def window_positions(image: np.ndarray, size: tuple[int, int], strides: tuple[int, int]):
    """For each position (i, j) of a window, the element that every window has there."""
    rows = (image.shape[1] - size[0]) // strides[0] + 1
    cols = (image.shape[2] - size[1]) // strides[1] + 1
    for i in range(size[0]):
        for j in range(size[1]):
            y = i + strides[0] * np.arange(rows)
            x = j + strides[1] * np.arange(cols)
            yield i, j, image[:, y[:, None], x[None, :]]


def conv2d(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    strides: tuple[int, int],
    pad: Pad,
    scale: float | None,
    relu: bool,
    pad_value: int = 0,
) -> np.ndarray:
    """x [n, h, w, ci], weight [kh, kw, ci, co], bias [co] int32."""
    total = np.int64(0)
    for i, j, elements in window_positions(padded(x, pad, pad_value), weight.shape[:2], strides):
        total = total + elements.astype(np.int64) @ weight[i, j].astype(np.int64)
    return requantized(wrapped(total if bias is None else total + bias), scale, relu)


def depthwise_conv2d(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    strides: tuple[int, int],
    pad: Pad,
    scale: float | None,
    relu: bool,
    pad_value: int = 0,
) -> np.ndarray:
    """x [n, h, w, c], weight [kh, kw, c], bias [c] int32."""
    total = np.int64(0)
    for i, j, elements in window_positions(padded(x, pad, pad_value), weight.shape[:2], strides):
        total = total + elements.astype(np.int64) * weight[i, j].astype(np.int64)
    return requantized(wrapped(total if bias is None else total + bias), scale, relu)


def matmul(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, scale: float | None, relu: bool
) -> np.ndarray:
    """a [batch, m, k], b [batch, k, n], bias [n] int32."""
    total = a.astype(np.int64) @ b.astype(np.int64)
    return requantized(wrapped(total if bias is None else total + bias), scale, relu)


def add(
    a: np.ndarray,
    b: np.ndarray,
    multipliers: tuple[int, int],
    bias: np.ndarray | None,
    scale: float,
    relu: bool,
) -> np.ndarray:
    """Operands times an integer each, and a constant (bias [1] int32), summed, to int8 at the
    output's scale."""
    total = int(multipliers[0]) * a.astype(np.int64) + int(multipliers[1]) * b.astype(np.int64)
    return requantized(wrapped(total if bias is None else total + bias), scale, relu)


def max_pool2d(x: np.ndarray, size: int, stride: int, pad: Pad, pad_value: int = 0) -> np.ndarray:
    """x [n, h, w, c]; elements off the image count as `pad_value`."""
    image = padded(x, pad, pad_value)
    views = [view for _, _, view in window_positions(image, (size, size), (stride, stride))]
    return np.max(views, axis=0)


def global_avg_pool(x: np.ndarray, scale: float | None) -> np.ndarray:
    """x [n, h, w, c]; the sum over the image, the division being part of the scale."""
    return requantized(wrapped(x.astype(np.int64).sum(axis=(1, 2))), scale)
