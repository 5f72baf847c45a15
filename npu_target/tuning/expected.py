"""What an operator computes, evaluated in NumPy: the yardstick of every measured candidate.

Exact, and quick enough to be no part of the tuning time: sums of products are matrix products in
float64, which holds every partial sum of int8 products exactly, wrapped to int32 at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..topi import (
    Add,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool,
    Matmul,
    MaxPool2d,
    Operator,
    OperatorError,
    add_diagonals,
    depthwise_diagonal,
)
from ..topi.conv2d import Window

Arrays = Mapping[str, np.ndarray]

# Standard deviation of the results to aim at, so that few of them saturate: a saturated element
# would hide a wrong accumulator.
_RESULT_DEVIATION = 50.0
_INT8_DEVIATION = 256 / math.sqrt(12)


def sample_inputs(operator: Operator, seed: int) -> dict[str, np.ndarray]:
    """Arrays for the operator's input arguments, by name, the same for the same seed.

    Activations cover all of int8. Weights and bias are scaled so that results mostly stay
    within int8 after requantization.
    """
    generator = np.random.default_rng(seed)
    inputs = {}
    for arg in operator.args:
        if arg.role != "input":
            continue
        limit = _amplitude(operator, arg.name)
        inputs[arg.name] = generator.integers(
            -limit - 1, limit, arg.shape, np.dtype(arg.dtype), endpoint=True
        )
    if isinstance(operator, DepthwiseConv2d):
        # The kernel's weight argument is made of diagonal blocks and is 0 elsewhere.
        compact = inputs["weight"][..., 0]
        inputs["weight"] = depthwise_diagonal(compact, operator.dim)
    if isinstance(operator, Add):
        # Multipliers that differ, and not by their sign alone, tell the operands apart.
        limit = max(2, _amplitude(operator, "weights"))
        a, b = generator.choice(np.arange(1, limit + 1), 2, replace=False)
        inputs["weights"] = add_diagonals(a, -b, operator.dim)
    if isinstance(operator, GlobalAvgPool):
        inputs["ones"] = np.ones(operator.dim, np.int8)
    return inputs


def expected_output(operator: Operator, inputs: Arrays) -> np.ndarray:
    """The operator's int8 output for `inputs` (its input arguments by name).

    Raises OperatorError for an operator that this file does not know.
    """
    evaluate = _EVALUATE.get(type(operator))
    if evaluate is None:
        raise OperatorError(f"{operator.op}: no NumPy evaluation; add one to tuning/expected.py")
    shape = next(arg.shape for arg in operator.args if arg.role == "output")
    return evaluate(operator, inputs).reshape(shape)


def difference(actual: np.ndarray, expected: np.ndarray) -> str:
    """How many elements of two arrays differ, and the first that does; empty if none."""
    wrong = np.argwhere(actual != expected)
    if not len(wrong):
        return ""
    place = tuple(int(index) for index in wrong[0])
    return (
        f"{len(wrong)} of {expected.size} elements differ, the first at {list(place)}: "
        f"{actual[place]} instead of {expected[place]}"
    )


def _amplitude(operator: Operator, name: str) -> int:
    """Largest value to draw for an argument; activations take the full range."""
    is_weight = name in ("weight", "weights", "bias") or (
        name == "b" and isinstance(operator, Matmul)
    )
    if not is_weight:
        return 127
    terms = {
        Conv2d: lambda o: o.kh * o.kw * o.ci,
        DepthwiseConv2d: lambda o: o.kh * o.kw,
        Matmul: lambda o: o.k,
        Add: lambda o: 2,
    }[type(operator)](operator)
    accumulator = _RESULT_DEVIATION / operator.scale  # type: ignore[attr-defined]
    if name == "bias":
        return int(min(accumulator, 2**30))
    deviation = accumulator / (_INT8_DEVIATION * math.sqrt(terms))
    return int(min(127, max(1, round(deviation * math.sqrt(3)))))


def _requantize(accumulator: np.ndarray, scale: float, relu: bool) -> np.ndarray:
    scaled = np.rint(accumulator.astype(np.float32) * np.float32(scale))
    return np.clip(scaled, 0 if relu else -128, 127).astype(np.int8)


def _wrap(exact: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Integers as float64 or int64, with the bias, as the int32 that an accumulator holds."""
    total = exact.astype(np.int64)
    if bias is not None:
        total = total + bias
    return total.astype(np.int32)


def _windows(x: np.ndarray, window: Window) -> np.ndarray:
    """Every window of an NHWC image, zero padded: [n, out_h, out_w, c, kh, kw]."""
    top, left, bottom, right = window.pad
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    views = sliding_window_view(padded, (window.kh, window.kw), (1, 2))
    return views[:, :: window.strides[0], :: window.strides[1]]


def _conv2d(operator: Conv2d, inputs: Arrays) -> np.ndarray:
    image = inputs["x"].reshape(operator.n, operator.h, operator.w, operator.ci)
    views = _windows(image, operator.window)
    n, out_h, out_w = views.shape[:3]
    kernel = (operator.kh, operator.kw, operator.ci, operator.co)
    weight = inputs["weight"].reshape(kernel).astype(np.float64)
    total = np.zeros((n * out_h * out_w, operator.co))
    # One product per kernel position: no patch matrix of kh x kw times the image.
    for i in range(operator.kh):
        for j in range(operator.kw):
            pixels = views[..., i, j].reshape(-1, operator.ci).astype(np.float64)
            total += pixels @ weight[i, j]
    return _requantize(_wrap(total, inputs.get("bias")), operator.scale, operator.relu)


def _depthwise(operator: DepthwiseConv2d, inputs: Arrays) -> np.ndarray:
    views = _windows(inputs["x"], operator.window)
    channels = np.arange(operator.c)
    weight = inputs["weight"][:, :, channels, channels % operator.dim].astype(np.int64)
    total = np.einsum("nyxcij,ijc->nyxc", views, weight)
    return _requantize(_wrap(total, inputs.get("bias")), operator.scale, operator.relu)


def _matmul(operator: Matmul, inputs: Arrays) -> np.ndarray:
    total = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
    return _requantize(_wrap(total, inputs.get("bias")), operator.scale, operator.relu)


def _add(operator: Add, inputs: Arrays) -> np.ndarray:
    multiplier_a, multiplier_b = inputs["weights"][:, 0, 0].astype(np.int32)
    total = multiplier_a * inputs["a"] + multiplier_b * inputs["b"]
    return _requantize(total, operator.scale, operator.relu)


def _max_pool2d(operator: MaxPool2d, inputs: Arrays) -> np.ndarray:
    return _windows(inputs["x"], operator.window).max(axis=(-2, -1))


def _global_avg_pool(operator: GlobalAvgPool, inputs: Arrays) -> np.ndarray:
    total = inputs["x"].astype(np.int64).sum(axis=1)
    return _requantize(_wrap(total, None), operator.scale, relu=False)


_EVALUATE: dict[type[Operator], Callable[..., np.ndarray]] = {
    Conv2d: _conv2d,
    DepthwiseConv2d: _depthwise,
    Matmul: _matmul,
    Add: _add,
    MaxPool2d: _max_pool2d,
    GlobalAvgPool: _global_avg_pool,
}
