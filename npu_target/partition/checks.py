"""From a match to an operator of the device, or to the reason why there is none.

A check returns an :class:`Accepted` or a sentence: the reason is what ``--explain`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from ..device import DeviceConfig
from ..relax_graph import Graph, attr_ints, constant_of, dtype_of, is_tensor, op_name, shape_of
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
from .match import Match


@dataclass(frozen=True)
class Accepted:
    """The device's operator and its arguments: values of the function, or constants laid out
    anew at compile time."""

    operator: Operator
    arguments: tuple[relax.Expr | np.ndarray, ...]


def check(match: Match, config: DeviceConfig) -> Accepted | str:
    """What the device makes of ``match``, or why it cannot."""
    not_static = [var for var in match.interior if not is_tensor(var)]
    if not_static:
        return f"the shape of {not_static[0].name} is not known at compile time"
    leak = match.leak()
    if leak is not None:
        return f"its intermediate value {leak.name} is used elsewhere"
    reason = _requantize_reason(match)
    if reason is not None:
        return reason
    try:
        return _CHECKS[match.spelling.name](match, config)
    except OperatorError as error:
        return str(error)


def _requantize_reason(match: Match) -> str | None:
    """Why the scales, bounds and ReLU of the match are not the device's."""
    scale = match.optional("scale")
    if scale is not None:
        values = constant_of(scale)
        if values is None or values.size != 1:
            size = "unknown" if values is None else str(values.size)
            return f"{size} requantize scales (per channel?), the device takes one a tensor"
        bounds = tuple(int(match.part(end).value) for end in ("low", "high"))
        if bounds[0] not in (-128, 0) or bounds[1] != 127:
            return f"clipped to {bounds[0]}..{bounds[1]}, the device saturates to -128..127"
    if "zero" in match.spelling.parts:
        zero = match.optional("zero")
        if zero is not None and np.any(constant_of(zero) != 0):
            return "a maximum with another value than 0 is not ReLU"
    return None


def _scale(match: Match) -> float:
    return float(constant_of(match.part("scale")).reshape(()))  # type: ignore[union-attr]


def _has_relu(match: Match) -> bool:
    clipped_at_0 = int(match.part("low").value) == 0
    return clipped_at_0 or any(match.optional(part) is not None for part in ("zero", "relu"))


def _bias(match: Match, channel_axis: int, channels: int) -> np.ndarray | str | None:
    """One int32 a channel; None without a bias, a reason for one that the device cannot add."""
    bias = match.optional("bias")
    if bias is None:
        return None
    values = constant_of(bias)
    if values is None:
        return "its bias is not constant"
    if values.dtype != np.int32:
        return f"its bias is {values.dtype}, the device adds int32"
    ndim = len(shape_of(match.anchor))
    shape = (1,) * (ndim - values.ndim) + values.shape
    if len(shape) > ndim or any(n != 1 for i, n in enumerate(shape) if i != channel_axis):
        return f"its bias of shape {values.shape} is not one value a channel"
    return np.ascontiguousarray(np.broadcast_to(values.reshape(-1), (channels,)))


def _conv2d(match: Match, config: DeviceConfig) -> Accepted | str:
    attrs = match.call.attrs
    if str(attrs.data_layout) != "NHWC" or str(attrs.out_layout) != "NHWC":
        return f"layout {attrs.data_layout} -> {attrs.out_layout}, the device computes NHWC"
    if attr_ints(attrs.dilation) != (1, 1):
        return f"dilation {attr_ints(attrs.dilation)}, the device has 1 only"
    weight = _hwio(match.part("weight"), str(attrs.kernel_layout))
    if isinstance(weight, str):
        return weight
    n, h, w, ci = shape_of(match.part("data"))
    co = shape_of(match.anchor)[3]
    bias = _bias(match, 3, co)
    if isinstance(bias, str):
        return bias
    kh, kw = weight.shape[:2] if isinstance(weight, np.ndarray) else shape_of(weight)[:2]
    window: dict[str, Any] = {
        "kh": kh,
        "kw": kw,
        "strides": attr_ints(attrs.strides),
        "pad": attr_ints(attrs.padding),
        "bias": bias is not None,
        "relu": _has_relu(match),
        "scale": _scale(match),
    }
    biases = () if bias is None else (bias,)
    groups = int(attrs.groups)
    if groups == 1:
        operator: Operator = Conv2d(n=n, h=h, w=w, ci=ci, co=co, **window)
        return Accepted(operator, (match.part("data"), weight, *biases))
    if not groups == ci == co:
        return (
            f"{groups} groups of {ci} input and {co} output channels; "
            f"the device has ungrouped and depthwise convolution"
        )
    if not isinstance(weight, np.ndarray):
        return "depthwise convolution whose weights are not constant"
    operator = DepthwiseConv2d(n=n, h=h, w=w, c=ci, dim=config.dim, **window)
    diagonal = depthwise_diagonal(weight.reshape(kh, kw, ci), config.dim)
    return Accepted(operator, (match.part("data"), diagonal, *biases))


def _hwio(weight: relax.Expr, layout: str) -> relax.Expr | np.ndarray | str:
    """The weight in HWIO: a constant is transposed now, a variable must already be."""
    values = constant_of(weight)
    if sorted(layout) != sorted("HWIO"):
        return f"weight layout {layout}, the device takes HWIO"
    if values is not None:
        return np.ascontiguousarray(values.transpose([layout.find(axis) for axis in "HWIO"]))
    if layout != "HWIO":
        return f"weights in layout {layout} that are not constant, the device takes HWIO"
    return weight


def _matmul(match: Match, _: DeviceConfig) -> Accepted | str:
    left, right = match.part("data"), match.part("weight")
    a_shape, b_shape = shape_of(left), shape_of(right)
    if min(len(a_shape), len(b_shape)) < 2:
        return f"matrix product of shapes {a_shape} and {b_shape}, the device takes matrices"
    k, n = b_shape[-2:]
    if len(b_shape) == 2:  # one matrix for all rows: batch axes are rows
        batch, m = 1, int(np.prod(a_shape[:-1]))
    elif a_shape[:-2] == b_shape[:-2]:
        batch, m = int(np.prod(a_shape[:-2])), a_shape[-2]
    else:
        return f"batches {a_shape[:-2]} and {b_shape[:-2]} differ, the device does not broadcast"
    bias = _bias(match, len(shape_of(match.anchor)) - 1, n)
    if isinstance(bias, str):
        return bias
    values = constant_of(right)
    operator = Matmul(
        batch,
        m,
        k,
        n,
        bias=bias is not None,
        relu=_has_relu(match),
        scale=_scale(match),
        varying=batch == 1 and values is None,
    )
    biases = () if bias is None else (bias,)
    return Accepted(operator, (left, right if values is None else values, *biases))


def _add(match: Match, config: DeviceConfig) -> Accepted | str:
    left, right = match.part("a"), match.part("b")
    if shape_of(left) != shape_of(right):
        return (
            f"shapes {shape_of(left)} and {shape_of(right)} differ, the device does not broadcast"
        )
    if any(constant_of(value) is not None for value in (left, right)):
        return "one operand is constant: not a residual addition"
    multipliers = []
    for side in ("a", "b"):
        factor = match.optional(f"{side}_multiplier")
        values = np.array(1) if factor is None else constant_of(factor)
        if values is None or values.size != 1:
            size = "unknown" if values is None else str(values.size)
            return f"{size} multipliers of an operand (per channel?), the device takes one"
        multipliers.append(int(values.reshape(())))
    cols = shape_of(left)[-1] if shape_of(left) else 1
    rows = int(np.prod(shape_of(left)[:-1]))
    operator = Add(rows, cols, config.dim, relu=_has_relu(match), scale=_scale(match))
    a, b = multipliers
    return Accepted(operator, (left, right, add_diagonals(a, b, config.dim)))


def _max_pool2d(match: Match, config: DeviceConfig) -> Accepted | str:
    attrs, data = match.call.attrs, match.part("data")
    if not config.has_pooling:
        return f"{config.name} was built without pooling (has_pooling)"
    if str(attrs.layout) != "NHWC" or str(attrs.out_layout) != "NHWC":
        return f"layout {attrs.layout} -> {attrs.out_layout}, the device computes NHWC"
    if attr_ints(attrs.dilation) != (1, 1):
        return f"dilation {attr_ints(attrs.dilation)}, the device has 1 only"
    size, strides = attr_ints(attrs.pool_size), attr_ints(attrs.strides)
    top, left, bottom, right = attr_ints(attrs.padding)
    if size[0] != size[1] or strides[0] != strides[1]:
        return f"window {size} with strides {strides}, the device pools squares"
    pads = (top, left, bottom, right)
    if max(pads) >= size[0]:
        return f"padding {pads} as large as the window {size}"
    if any(pads) and not is_non_negative(match.graph, data):
        return "padding counts as 0 on the device, and its input may be negative"
    n, h, w, c = shape_of(data)
    operator = MaxPool2d(
        n, h, w, c, size=size[0], stride=strides[0], pad=(top, left, bottom, right)
    )
    if operator.args[-1].shape != shape_of(match.root):
        return "ceil_mode counts windows that reach past the padding"
    return Accepted(operator, (data,))


def _global_avg_pool(match: Match, config: DeviceConfig) -> Accepted | str:
    data, axes = match.part("data"), match.call.attrs.axis
    if len(shape_of(data)) != 4 or axes is None:
        return "a sum over other axes than an image's lines and pixels"
    if sorted(axis % 4 for axis in attr_ints(axes)) != [1, 2]:
        return f"a sum over axes {attr_ints(axes)}, the device sums lines and pixels of NHWC (1, 2)"
    if int(match.part("low").value) == 0:
        return "clipped at 0: the device's average pool has no ReLU"
    n, h, w, c = shape_of(data)
    operator = GlobalAvgPool(n, h, w, c, config.dim, scale=_scale(match))
    return Accepted(operator, (data, np.ones(config.dim, np.int8)))


_CHECKS: dict[str, Callable[[Match, DeviceConfig], Accepted | str]] = {
    "conv2d": _conv2d,
    "matmul": _matmul,
    "add": _add,
    "max_pool2d": _max_pool2d,
    "global_avg_pool": _global_avg_pool,
}

_KEEPS_SIGN = frozenset(
    {
        "relax.nn.max_pool2d",
        "relax.reshape",
        "relax.permute_dims",
        "relax.flatten",
        "relax.squeeze",
        "relax.expand_dims",
        "relax.astype",
        "relax.round",
    }
)


def is_non_negative(graph: Graph, value: relax.Expr) -> bool:
    """Whether ``value`` is known to have no negative element, whatever the inputs."""
    call = graph.producer(value)
    name = op_name(call)
    if name == "relax.nn.relu":
        return True
    if name == "relax.maximum":
        constants: Sequence[np.ndarray | None] = [constant_of(arg) for arg in call.args]
        return any(values is not None and bool((values >= 0).all()) for values in constants)
    if name == "relax.clip":
        return float(call.args[1].value) >= 0
    # A conversion keeps the sign unless it wraps: from clipped float32, or to something wider.
    if name == "relax.astype" and dtype_of(call) == "int8":
        return op_name(graph.producer(call.args[0])) == "relax.clip" and is_non_negative(
            graph, call.args[0]
        )
    return name in _KEEPS_SIGN and is_non_negative(graph, call.args[0])
