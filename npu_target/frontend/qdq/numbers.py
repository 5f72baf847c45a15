"""Scales and zero points of ``relax.quantize`` and ``relax.dequantize``, checked."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...integer import Quantization
from ...relax_graph import Graph, constant_of, dtype_of, op_name, shape_of
from ..errors import FrontendError

# What is added to int8 to have the file's integers.
SHIFTS = {"int8": 0, "uint8": 128}


def stored_dtype(expr: relax.Expr) -> str:
    """The type of the integers of a quantize's result or of a dequantize's argument."""
    if op_name(expr) == "relax.dequantize":
        return dtype_of(expr.args[0])
    return dtype_of(expr)


def array_quantization(graph: Graph, var: relax.Expr) -> tuple[np.ndarray, np.ndarray] | None:
    """(scale in float32, zero point in int32) of a quantize or dequantize, of a shape that
    broadcasts to its value's; None where they are computed.

    Raises :class:`FrontendError` for numbers that no such operation can have.
    """
    call = graph.producer(var)
    scale, zero_point = (constant_of(graph.producer(arg)) for arg in call.args[1:])
    if scale is None or zero_point is None:
        return None
    place = var.name if isinstance(var, relax.Var) else str(op_name(call))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        wrong = scale[~(np.isfinite(scale) & (scale > 0))].reshape(-1)[0]
        raise FrontendError(f"{place}: a scale must be positive and finite, it is {wrong}")
    dtype = np.dtype(stored_dtype(call))
    limits = np.iinfo(dtype)
    outside = zero_point[(zero_point < limits.min) | (zero_point > limits.max)].reshape(-1)
    if outside.size:
        raise FrontendError(f"{place}: a zero point of {dtype} cannot be {outside[0]}")
    shape, axis = shape_of(call.args[0]), int(call.attrs.axis)
    arrays = []
    for array in (scale, zero_point):
        if array.size == 1:
            arrays.append(array.reshape(()))
            continue
        if not -len(shape) <= axis < len(shape) or shape[axis] != array.size:
            raise FrontendError(
                f"{place}: {array.size} scales or zero points do not belong to axis {axis} of "
                f"shape {shape}"
            )
        full = [1] * len(shape)
        full[axis] = array.size
        arrays.append(array.reshape(full))
    return arrays[0].astype(np.float32), arrays[1].astype(np.int32)


def tensor_quantization(graph: Graph, var: relax.Var) -> Quantization | None:
    """The one scale and zero point of a quantize or dequantize of int8 or uint8, as those of int8;
    None for any other."""
    dtype = stored_dtype(graph.value[var])
    if dtype not in SHIFTS:
        return None
    numbers = array_quantization(graph, var)
    if numbers is None or numbers[0].size != 1 or numbers[1].size != 1:
        return None
    return Quantization((float(numbers[0]),), (int(numbers[1]) - SHIFTS[dtype],))
