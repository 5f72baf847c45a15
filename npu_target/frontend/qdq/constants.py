"""What is constant in a function that quantizes and dequantizes, as integers with their scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax

from ...relax_graph import Graph, attr_ints, constant_of, op_name, shape_of
from .numbers import SHIFTS, array_quantization

_RESHAPES = ("relax.reshape", "relax.expand_dims", "relax.squeeze", "relax.flatten")


@dataclass(frozen=True)
class Constant:
    """``values``, or ``(values - zero_point) * scale`` where there is a scale.

    scale, zero_point : float32 and int32 that broadcast to the values.
    """

    values: np.ndarray
    scale: np.ndarray | None = None
    zero_point: np.ndarray | None = None

    @property
    def centred(self) -> np.ndarray:
        """int32: the integers without their zero point."""
        integers = self.values.astype(np.int32)
        return integers if self.zero_point is None else np.asarray(integers - self.zero_point)

    @property
    def real(self) -> np.ndarray:
        """What the values are worth, in float64."""
        if self.scale is None:
            return self.values.astype(np.float64)
        return np.asarray(self.centred * self.scale.astype(np.float64))

    def as_int8(self) -> tuple[np.ndarray, np.ndarray] | None:
        """8-bit integers without their zero point, as int8 and what is missing in them: int32, 0
        where there is nothing, one number, or one for each index of the last axis. None where zero
        points differ otherwise."""
        centred = self.centred
        if centred.min(initial=0) >= -128 and centred.max(initial=0) <= 127:
            return centred.astype(np.int8), np.zeros((), np.int32)
        assert self.zero_point is not None
        point = self.zero_point
        if point.size > 1 and point.shape[-1] != point.size:
            return None
        shift = SHIFTS[str(self.values.dtype)]
        near = (self.values.astype(np.int16) - shift).astype(np.int8)
        return near, (shift - point.reshape(-1)).astype(np.int32)

    def scale_along_last_axis(self) -> np.ndarray | None:
        """One scale, or one for each index of the last axis; None where they differ otherwise."""
        assert self.scale is not None
        if self.scale.size == 1:
            return self.scale.reshape(1)
        if self.scale.shape[-1] == self.scale.size:
            return self.scale.reshape(-1)
        rows = np.broadcast_to(self.scale, self.values.shape).reshape(-1, self.values.shape[-1])
        return rows[0] if (rows == rows[0]).all() else None

    def permuted(self, axes: list[int]) -> Constant:
        def move(numbers: np.ndarray) -> np.ndarray:
            return numbers if numbers.size == 1 else numbers.transpose(axes)

        return self._moved(self.values.transpose(axes), move)

    def reshaped(self, shape: tuple[int, ...]) -> Constant:
        def move(numbers: np.ndarray) -> np.ndarray:
            if numbers.size == 1:
                return numbers.reshape(())
            return np.broadcast_to(numbers, self.values.shape).reshape(shape)

        return self._moved(self.values.reshape(shape), move)

    def _moved(self, values: np.ndarray, move) -> Constant:  # type: ignore[no-untyped-def]
        if self.scale is None:
            return Constant(values)
        return Constant(values, move(self.scale), move(self.zero_point))


def constant(graph: Graph, expr: relax.Expr) -> Constant | None:
    """An argument that comes from constants alone, through what moves or quantizes them."""
    call = graph.producer(expr)
    array = constant_of(call)
    if array is not None:
        return Constant(array)
    name = op_name(call)
    if name is None or not call.args:
        return None
    if name == "relax.permute_dims":
        source = constant(graph, call.args[0])
        rank = len(shape_of(call))
        axes = [*range(rank)][::-1] if call.attrs.axes is None else list(attr_ints(call.attrs.axes))
        return None if source is None else source.permuted([axis % rank for axis in axes])
    if name in _RESHAPES:
        source = constant(graph, call.args[0])
        return None if source is None else source.reshaped(shape_of(call))
    if name in ("relax.quantize", "relax.dequantize"):
        return _quantized(graph, expr, call, name == "relax.quantize")
    return None


def _quantized(graph: Graph, expr: relax.Expr, call: relax.Call, down: bool) -> Constant | None:
    source = constant(graph, call.args[0])
    if source is None or source.scale is not None:
        return None
    numbers = array_quantization(graph, expr)
    if numbers is None:
        return None
    scale, zero_point = numbers
    if not down:
        return Constant(source.values, scale, zero_point)
    dtype = np.dtype(str(call.attrs.out_dtype))
    limits = np.iinfo(dtype)
    steps = np.rint(source.values.astype(np.float32) / scale) + zero_point
    return Constant(np.clip(steps, limits.min, limits.max).astype(dtype))
