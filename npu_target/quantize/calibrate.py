"""Tensor ranges, observed on calibration inputs, and the scale that follows from a range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from enum import Enum

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..errors import UserError
from ..host import build_host, run_host
from ..relax_graph import Graph, copy_binding, rebuild, replace_function

INT8_LIMIT = 127  # symmetric: -128 is never produced by quantizing, only by saturating
_BINS = 2048


class QuantizeError(UserError, ValueError):
    """A graph, a calibration input or an option that the quantizer cannot work with."""


class Method(str, Enum):
    """How the clipping threshold of a tensor is chosen from the values it took."""

    MINMAX = "minmax"  # the largest magnitude: nothing is clipped
    PERCENTILE = "percentile"  # 99.99 % of all values are not clipped
    MSE = "mse"  # the least mean squared error of clipping and rounding together


_PERCENTILE = 0.9999


class RangeObserver:
    """A histogram of magnitudes that widens, by merging bins, as larger values come.

    counts : of the values in each bin so far, int64 [2048].
    width : of a bin; 0 until a value other than 0 was seen.
    largest : of all magnitudes.
    """

    def __init__(
        self,
        name: str,
        counts: np.ndarray | None = None,
        width: float = 0.0,
        largest: float = 0.0,
    ) -> None:
        self._name = name
        self.counts = np.zeros(_BINS, "int64") if counts is None else counts
        self.width = width
        self.largest = largest

    def update(self, values: np.ndarray) -> None:
        """Take in a tensor; raises :class:`QuantizeError` if a value is not finite."""
        # float64: the width of a bin may be less than what float32 can hold
        magnitudes = np.abs(values.astype("float64")).reshape(-1)
        largest = float(magnitudes.max(initial=0.0))
        if not np.isfinite(largest):
            raise QuantizeError(
                f"{self._name}: a value is infinite or not a number on the calibration inputs; "
                f"check them and the weights, or leave {self._name} in float (keep_float)"
            )
        self.largest = max(self.largest, largest)
        if self.width == 0.0:
            self.width = largest / _BINS
        if self.width == 0.0:  # all values so far are 0, or too small to tell from it
            return
        while largest > self.width * _BINS:
            self.counts = np.concatenate(
                [self.counts.reshape(-1, 2).sum(axis=1), np.zeros(_BINS // 2, "int64")]
            )
            self.width *= 2.0
        magnitudes = magnitudes[magnitudes > 0]  # 0 is exact under any scale
        bins = np.minimum((magnitudes / self.width).astype("int64"), _BINS - 1)
        self.counts += np.bincount(bins, minlength=_BINS)

    def threshold(self, method: Method) -> float:
        """The magnitude that becomes 127; 0 if only zeros were seen."""
        if self.width == 0.0 or method is Method.MINMAX:
            return self.largest
        if method is Method.PERCENTILE:
            share = np.cumsum(self.counts) / self.counts.sum()
            return min(self.largest, (int(np.searchsorted(share, _PERCENTILE)) + 1) * self.width)
        return self._least_squares_threshold()

    def scale(self, method: Method, powers_of_two: bool) -> float:
        """What a step of int8 is worth: a power of two where it has to be.

        Then the next one above, at which nothing is clipped that the method does not clip; by the
        least squares maybe the one below.
        """
        scale = scale_of(self.threshold(method))
        if not powers_of_two:
            return scale
        above = power_of_two_from(scale)
        if method is not Method.MSE or self.width == 0.0:
            return above
        return min((above, above / 2), key=lambda scale: self._squared_errors([scale])[0])

    def _least_squares_threshold(self) -> float:
        candidates = np.linspace(1.0, 0.2, 161) * self.largest
        totals = self._squared_errors([candidate / INT8_LIMIT for candidate in candidates])
        return float(candidates[np.argmin(totals)])

    def _squared_errors(self, scales: Sequence[float]) -> list[float]:
        """Of clipping and rounding all values so far, by each scale."""
        centers = (np.arange(_BINS) + 0.5) * self.width
        used = self.counts > 0
        centers, counts = centers[used], self.counts[used]
        totals = []
        for scale in scales:
            error = np.minimum(np.rint(centers / scale), INT8_LIMIT) * scale - centers
            totals.append(float(np.dot(error**2, counts)))
        return totals


def scale_of(threshold: float) -> float:
    """The scale under which ``threshold`` becomes 127; 1 for a tensor of zeros."""
    scale = float(np.float32(threshold / INT8_LIMIT))
    return scale if scale > np.finfo("float32").tiny else 1.0


def power_of_two_from(scale: float) -> float:
    """The least power of two that is not below a scale."""
    mantissa, exponent = math.frexp(scale)
    return scale if mantissa == 0.5 else 2.0**exponent


def observe(
    mod: IRModule,
    graph: Graph,
    variables: Sequence[relax.Var],
    inputs: Sequence[np.ndarray | Sequence[np.ndarray]],
    progress: Callable[[int], None] = lambda done: None,
) -> dict[relax.Var, RangeObserver]:
    """Run the float ``graph`` of ``mod`` on every one of ``inputs`` (each a list of arguments, or
    the only one) and collect the ranges of ``variables``. Inputs are asked for one after the other;
    ``progress`` is called with how many are done."""
    if not inputs:
        raise QuantizeError("calibration needs at least one input, there are none")
    executable = build_host(with_outputs(mod, graph, variables))
    observers = {var: RangeObserver(var.name) for var in variables}
    for index, item in enumerate(inputs):
        progress(index)
        arguments = [item] if isinstance(item, np.ndarray) else list(item)
        _check_arguments(graph, index, arguments)
        for var, values in zip(variables, run_host(executable, *arguments), strict=True):
            observers[var].update(values)
    return observers


def _check_arguments(graph: Graph, index: int, arguments: Sequence[np.ndarray]) -> None:
    if len(arguments) != len(graph.params):
        raise QuantizeError(
            f"calibration input {index}: {graph.name} takes {len(graph.params)} arguments, "
            f"there are {len(arguments)}"
        )
    for param, value in zip(graph.params, arguments, strict=True):
        shape = tuple(int(extent) for extent in param.ty.shape)
        dtype = str(param.ty.dtype)
        if value.shape != shape or str(value.dtype) != dtype:
            raise QuantizeError(
                f"calibration input {index}: {param.name} must be {dtype} {shape}, "
                f"it is {value.dtype} {value.shape}"
            )


def with_outputs(mod: IRModule, graph: Graph, variables: Sequence[relax.Var]) -> IRModule:
    """``mod`` with the values of ``variables`` as the function's results."""
    watched = copy(graph)
    watched.output = relax.Tuple(list(variables))

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        copy_binding(builder, var, values, graph)

    return replace_function(mod, graph.name, rebuild(watched, emit))
