"""Operators on quantized tensors, as dequantize, the operator on floats, quantize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import FrontendError
from ..softmax import IntegerSoftmax
from .context import Context, argument, attributes

Rule = Callable[[Context, Any], None]

_SOFTMAX_OF_ONE_AXIS = 13  # the opset since which it is; before, of all from one on


def _conv(context: Context, node: Any) -> None:
    x, x_scale, x_point, w, w_scale, w_point, y_scale, y_point = list(node.input)[:8]
    scale = context.number(node, 4)
    if scale.size > 1 and w in context.constants:
        channels = next(iter(context.constants[w].dims), 0)
        if scale.size != channels:
            raise FrontendError(
                f"{context.place(node)}: {scale.size} scales for {channels} output channels of its "
                "weight"
            )
    inputs = [
        context.dequantized(x, x_scale, x_point),
        context.dequantized(w, w_scale, w_point, axis=0),
    ]
    if argument(node, 8):
        steps = np.float32(context.number(node, 1).reshape(())) * scale.astype(np.float32)
        inputs.append(_int32_bias(context, node, argument(node, 8), steps))
    sums = context.add("Conv", inputs, context.fresh(node.output[0]), node.name, **attributes(node))
    context.quantized(node, sums, y_scale, y_point)


def _int32_bias(context: Context, node: Any, bias: str, steps: np.ndarray) -> str:
    """A bias in steps of the sums, dequantized."""
    value = context.array(bias)
    if value is None:
        raise FrontendError(f"{context.place(node)}: its bias {bias!r} must be constant")
    count = value.shape[-1] if value.ndim else 1
    scale = steps.reshape(-1)
    if scale.size > 1 and scale.size != count:
        raise FrontendError(
            f"{context.place(node)}: {scale.size} scales and a bias of {count} channels"
        )
    scale_name = context.constant(np.broadcast_to(scale, (count,)), f"{bias}_scale")
    point = context.constant(np.zeros(count, value.dtype), f"{bias}_zero_point")
    return context.dequantized(bias, scale_name, point, axis=max(value.ndim - 1, 0))


def _matmul(context: Context, node: Any) -> None:
    a, a_scale, a_point, b, b_scale, b_point, y_scale, y_point = list(node.input)[:8]
    if context.number(node, 1).size > 1:
        raise FrontendError(f"{context.place(node)}: scales for each row are not supported")
    inputs = [
        context.dequantized(a, a_scale, a_point),
        context.dequantized(b, b_scale, b_point, axis=-1),
    ]
    sums = context.add("MatMul", inputs, context.fresh(node.output[0]), node.name)
    context.quantized(node, sums, y_scale, y_point)


def _gemm(context: Context, node: Any) -> None:
    given = attributes(node)
    a, a_scale, a_point, b, b_scale, b_point = list(node.input)[:6]
    scale = np.float32(given.pop("alpha", 1.0)) * context.number(node, 1).astype(np.float32)
    a_scale = context.constant(scale.reshape(()), a_scale)
    axis = 0 if given.get("transB") else 1
    inputs = [
        context.dequantized(a, a_scale, a_point),
        context.dequantized(b, b_scale, b_point, axis),
    ]
    if argument(node, 6):
        steps = scale.reshape(()) * context.number(node, 4).astype(np.float32)
        inputs.append(_int32_bias(context, node, argument(node, 6), steps))
    if argument(node, 7):
        sums = context.add("Gemm", inputs, context.fresh(node.output[0]), node.name, **given)
        context.quantized(node, sums, argument(node, 7), argument(node, 8))
    else:
        context.add("Gemm", inputs, node.output[0], node.name, **given)


def _binary(op_type: str) -> Rule:
    def rule(context: Context, node: Any) -> None:
        inputs = [
            context.dequantized(*list(node.input)[3 * side : 3 * side + 3]) for side in (0, 1)
        ]
        value = context.add(op_type, inputs, context.fresh(node.output[0]), node.name)
        context.quantized(node, value, argument(node, 6), argument(node, 7))

    return rule


def _unary(op_type: str) -> Rule:
    def rule(context: Context, node: Any) -> None:
        given = attributes(node)
        if given.pop("channels_last", 0):
            raise FrontendError(f"{context.place(node)}: channels_last is not supported")
        real = context.dequantized(*list(node.input)[:3])
        value = context.add(op_type, [real], context.fresh(node.output[0]), node.name, **given)
        context.quantized(node, value, argument(node, 3), argument(node, 4))

    return rule


def _softmax(context: Context, node: Any) -> None:
    """An Identity of int8, of which ``context.softmaxes`` says what it is: the standard has no
    Softmax of integers."""
    x, x_scale, x_point, y_scale, y_point = (argument(node, index) for index in range(5))
    scales = [context.number(node, index).reshape(()) for index in (1, 3)]
    # Between the file's integers and int8 nothing is rounded.
    points = []
    for name in (x_point, y_point):
        point = context.array(name) if name else np.zeros((), "uint8")
        if point is None:
            raise FrontendError(f"{context.place(node)}: its zero point {name!r} must be constant")
        points.append(int(point.reshape(())) - (128 if point.dtype == "uint8" else 0))
    given = attributes(node)
    whole = int(given.get("opset", 0)) < _SOFTMAX_OF_ONE_AXIS
    softmax = IntegerSoftmax(
        float(scales[0]), float(scales[1]), points[1], given.get("axis", -1), whole
    )
    names = [context.constant(np.array(point, "int8"), f"{node.name}_point") for point in points]
    real = context.dequantized(x, x_scale, x_point)
    integers = context.fresh(f"{x}_int8")
    context.add("QuantizeLinear", [real, x_scale, names[0]], integers, integers)
    made = context.fresh(node.output[0])
    name = context.fresh(node.name or "softmax")
    context.softmaxes[name] = softmax
    context.add("Identity", [integers], made, name)
    real = context.dequantized(made, y_scale, names[1])
    context.quantized(node, real, y_scale, y_point)


def _concat(context: Context, node: Any) -> None:
    scale, point, *rest = node.input
    if len(rest) % 3:
        raise FrontendError(
            f"{context.place(node)}: a value, its scale or its zero point is missing"
        )
    inputs = [context.dequantized(*rest[at : at + 3]) for at in range(0, len(rest), 3)]
    value = context.add(
        "Concat", inputs, context.fresh(node.output[0]), node.name, **attributes(node)
    )
    context.quantized(node, value, scale, point)


def _integers(op_type: str, axis: int) -> Rule:
    """Sums of integers: as floats of scale 1, made integers again."""

    def rule(context: Context, node: Any) -> None:
        from onnx import TensorProto

        one = context.constant(np.array(1, "float32"), "one")
        inputs = []
        for index in (0, 1):
            point = argument(node, index + 2)
            if point:
                size = context.number(node, index + 2).size
                scale = one if size == 1 else context.constant(np.ones(size, "float32"), "ones")
                inputs.append(context.dequantized(node.input[index], scale, point, axis))
            else:
                inputs.append(context.dequantized(node.input[index], one, ""))
        output = context.fresh(node.output[0])
        sums = context.add(op_type, inputs, output, node.name, **attributes(node))
        context.add("Cast", [sums], node.output[0], f"{node.name}_cast", to=TensorProto.INT32)

    return rule


def _same(op_type: str) -> Rule:
    """An operator of the standard, in another domain."""

    def rule(context: Context, node: Any) -> None:
        context.add(op_type, list(node.input), node.output[0], node.name, **attributes(node))

    return rule


# By domain and name ("" is the standard's): the rule, and how many inputs it needs.
RULES: dict[tuple[str, str], tuple[Rule, int]] = {
    ("", "QLinearConv"): (_conv, 8),
    ("", "QLinearMatMul"): (_matmul, 8),
    ("", "ConvInteger"): (_integers("Conv", 0), 2),
    ("", "MatMulInteger"): (_integers("MatMul", -1), 2),
    ("com.microsoft", "QGemm"): (_gemm, 6),
    ("com.microsoft", "QLinearAdd"): (_binary("Add"), 7),
    ("com.microsoft", "QLinearMul"): (_binary("Mul"), 7),
    ("com.microsoft", "QLinearConcat"): (_concat, 5),
    ("com.microsoft", "QLinearGlobalAveragePool"): (_unary("GlobalAveragePool"), 4),
    ("com.microsoft", "QLinearAveragePool"): (_unary("AveragePool"), 4),
    ("com.microsoft", "QLinearLeakyRelu"): (_unary("LeakyRelu"), 4),
    ("com.microsoft", "QLinearSigmoid"): (_unary("Sigmoid"), 4),
    ("com.microsoft", "QLinearSoftmax"): (_softmax, 4),
    ("com.microsoft", "QuantizeLinear"): (_same("QuantizeLinear"), 2),
    ("com.microsoft", "DequantizeLinear"): (_same("DequantizeLinear"), 2),
}
