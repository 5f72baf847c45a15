"""Operators of quantized programs: from floats to integers and back.

PyTorch quantizes by ``clip(round(x * (1 / scale)) + zero_point, low, high)``, its reciprocal in
float32; TVM's ``relax.quantize`` divides. Between two integer layers that makes no difference: one
scale takes the sums of one to the values of the next. What is still quantized from floats after the
rewrite to integers, such as an input, is spelled as PyTorch has it by `as_pytorch`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ...relax_graph import (
    Graph,
    constant_of,
    copy_binding,
    dtype_of,
    op_name,
    rebuild,
    replace_function,
    substitute,
)
from .converters import Converter, Emit


def _quantize(a: dict[str, Any], emit: Emit) -> relax.Expr:
    scale, point, axis = _numbers(a)
    dtype = str(a["dtype"]).removeprefix("torch.")
    value, limits = a["input"], np.iinfo(dtype)
    if a["quant_min"] > limits.min or a["quant_max"] < limits.max:
        if scale.size > 1:
            raise ValueError(f"has bounds narrower than {dtype}'s and a scale a channel")
        low, high = (
            float(np.float32(bound - int(point.reshape(-1)[0])) * scale.reshape(-1)[0])
            for bound in (a["quant_min"], a["quant_max"])
        )
        value = emit(relax.op.clip(value, low, high), "clipped")
    scales, points = relax.const(scale), relax.const(point.astype(dtype))
    return emit(relax.op.quantize(value, scales, points, axis, dtype), "quantized")


def _dequantize(a: dict[str, Any], emit: Emit) -> relax.Expr:
    scale, point, axis = _numbers(a)
    scales, points = relax.const(scale), relax.const(point.astype(dtype_of(a["input"])))
    return emit(relax.op.dequantize(a["input"], scales, points, axis), "dequantized")


def _numbers(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, int]:
    """Scale and zero point, scalars or one for each index of an axis, which comes third."""
    scale = np.array(a["scales"] if "scales" in a else a["scale"], np.float32)
    # Symmetric per channel, zero points may be left out.
    point = a["zero_points"] if "zero_points" in a else a["zero_point"]
    integers = np.zeros(scale.shape, np.int64) if point is None else np.array(point, np.int64)
    limits = np.iinfo(str(a["dtype"]).removeprefix("torch."))
    if integers.size and not (limits.min <= integers.min() and integers.max() <= limits.max):
        raise ValueError(f"has a zero point out of {limits.dtype}'s range")
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("has a scale that is not positive and finite")
    return scale, integers, int(a.get("axis", -1))


QUANTIZED: dict[str, Converter] = {
    "quantize_per_tensor.default": _quantize,
    "quantize_per_channel.default": _quantize,
    "dequantize_per_tensor.default": _dequantize,
    "dequantize_per_channel.default": _dequantize,
}
# Arguments that are tensors, of which the values are needed.
NUMBERS = ("scales", "zero_points")


def as_pytorch(mod: IRModule) -> IRModule:
    """``mod`` with each ``relax.quantize`` of one scale multiplying, as PyTorch does."""
    graph = Graph(mod)

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        call = graph.value[var]
        numbers = _scalars(call) if op_name(call) == "relax.quantize" else None
        if numbers is None:
            copy_binding(builder, var, values, graph)
            return
        scale, point = numbers
        dtype = str(call.attrs.out_dtype)
        limits = np.iinfo(dtype)
        reciprocal = relax.const(np.float32(1.0 / float(scale)))
        value = substitute(call.args[0], values)
        steps = builder.emit(relax.op.multiply(value, reciprocal), f"{var.name}_steps")
        rounded = builder.emit(relax.op.round(steps), f"{var.name}_rounded")
        if point:
            shift = relax.const(np.float32(point))
            rounded = builder.emit(relax.op.add(rounded, shift), f"{var.name}_shifted")
        cut = relax.op.clip(rounded, float(limits.min), float(limits.max))
        values[var] = builder.emit(
            relax.op.astype(builder.emit(cut, f"{var.name}_cut"), dtype), var.name
        )

    return replace_function(mod, graph.name, rebuild(graph, emit))


def _scalars(call: relax.Call) -> tuple[np.float32, int] | None:
    scale, point = (constant_of(arg) for arg in call.args[1:])
    if scale is None or point is None or scale.size != 1 or point.size != 1:
        return None
    return np.float32(scale.reshape(-1)[0]), int(point.reshape(-1)[0])
