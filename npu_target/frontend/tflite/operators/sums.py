"""Products of int8 summed in int32: weights, zero points in the bias, and back to int8."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax

from ....integer import Requantize
from ..operation import UINT8_OFFSET, Affine, Operation, as_int8
from .fused import fused_bounds, integer_bounds

# How far the scale of a bias may be from what it stands for, in steps of the result.
_NEAR = 0.02


@dataclass(frozen=True)
class Weights:
    """Constant weights: ``real = scale * (values - zero_point)``, ``values`` int8 as in the file.

    scales : one, or one for each output channel.
    """

    values: np.ndarray
    scales: tuple[float, ...]
    zero_point: int


def integer_weights(op: Operation, position: int, axis: int) -> Weights:
    """Weights of 8 bits whose output channels lie along ``axis``."""
    tensor = op.tensor(position)
    values = op.constant(position)
    if values.dtype not in (np.int8, np.uint8):
        raise op.refusal(
            f"{tensor.name!r} is {tensor.dtype}; of an integer network it must be 8 bits"
        )
    scales = op.channel_scales(position, axis)
    zero_points = set(tensor.zero_points or (0,))
    offset = UINT8_OFFSET if values.dtype == np.uint8 else 0
    if len(zero_points) > 1 or (len(scales) > 1 and zero_points != {0}):
        raise op.refusal(f"{tensor.name!r} has zero points for single channels, which must be 0")
    return Weights(as_int8(values), scales, zero_points.pop() - offset)


def integer_bias(
    op: Operation, position: int, channels: int, operand: Affine, weights: Weights
) -> np.ndarray:
    """The bias as int64 [channels], zeros where the operator has none."""
    if not op.has(position):
        return np.zeros(channels, np.int64)
    values, tensor = op.constant(position), op.tensor(position)
    if values.dtype != np.int32 or values.size != channels:
        raise op.refusal(
            f"its bias {tensor.name!r} is {values.dtype} of shape {values.shape}; "
            f"int32 for {channels} channels is needed"
        )
    products = operand.scale * np.array(weights.scales)
    scales = np.array(tensor.scales or products)
    # As near as TFLite wants them: others are damaged.
    if scales.size not in (1, products.size) or not np.all(
        np.abs(scales - products) <= _NEAR * op.result.scale
    ):
        raise op.refusal(
            f"the scale of its bias {tensor.name!r} is not the product of those of its operand and "
            "its weights"
        )
    return values.reshape(-1).astype(np.int64)


def with_bias(op: Operation, sums: relax.Expr, bias: np.ndarray) -> relax.Var:
    """Sums and a bias for the last axis; what does not fit into 32 bits wraps around."""
    bound = op.emit(sums, "sums")
    if not bias.any():
        return bound
    return op.emit(relax.op.add(bound, relax.const(wrapped(bias))), "biased")


def wrapped(values: np.ndarray) -> np.ndarray:
    """int64 as int32, modulo 2^32."""
    return values.astype(np.uint64).astype(np.uint32).view(np.int32)


def requantized(
    op: Operation, sums: relax.Expr, scales: tuple[float, ...], rule: str
) -> relax.Expr:
    """Sums of these scales as the operator's result, its fused activation included."""
    low, high = integer_bounds(op, fused_bounds(op))
    numbers = Requantize(rule, scales, op.result.zero_point, low, high)
    return op.emit_integer(numbers, [sums])


def effective_scales(op: Operation, operand: Affine, weights: Weights) -> tuple[float, ...]:
    """What one step of the sums is worth in steps of the result, for each output channel."""
    scale = op.result.scale
    return tuple(operand.scale * weight / scale for weight in weights.scales)


def tensor_scale(op: Operation, operand: Affine, weights: Weights) -> tuple[float, ...]:
    """The same where TFLite has one scale for all: the product of the two is of float32."""
    product = np.float32(operand.scale) * np.float32(weights.scales[0])
    return (float(product) / op.result.scale,)
