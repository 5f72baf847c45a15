"""Averages over an image's windows: sums of pixels by the array, and one scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from tvm import relax

from ..device.requantize import INT8_MAX, INT8_MIN, RequantizeRule
from ..integer import IntegerOperation
from ..integer.average_pool import AveragePool
from ..integer.mean import Mean
from ..relax_graph import shape_of
from .forms import Form, ImageSumForm, Rescale, WindowSumForm
from .layer import Candidate, Named, Network
from .ranges import Range, range_of
from .steps import DeviceNumbers, device_numbers, steps_of

_IMAGE_AXES = (1, 2)


def average_candidate(network: Network, named: Named, is_fast: bool) -> Candidate | str:
    """The device's form of an average over windows, an exact one unless ``is_fast``; or why there
    is none."""
    (image,) = named.inputs
    shape = shape_of(image)
    window = _window(named.operation, shape)
    if isinstance(window, str) or not isinstance(image, relax.Var):
        return window if isinstance(window, str) else "its image is constant"
    pixels = range_of(network.mod, network.graph, image)
    best: Candidate | str = "the device's rule has no scale for it"
    least_moved = np.inf
    # With nothing added to the sums where that will do: it is the cheaper operator.
    is_whole = window == shape[1:3]
    for has_constant in (False, True) if is_whole else (True,):
        found = _numbers(named.operation, window, pixels, network.rule, has_constant)
        if found is None or found.moved >= least_moved:
            continue
        least_moved = found.moved
        if found.moved and not is_fast:
            best = f"{found.moved} of its steps would be at another sum by the device's rule"
            continue
        why = "all its steps are at the same sums"
        if found.moved:
            why = f"{found.moved} of its steps are at other sums"
        form = _form(named, image, window, found, has_constant)
        best = Candidate(form, found.moved == 0, "sums of pixels", why)
    return best


def _window(operation: IntegerOperation, shape: tuple[int, ...]) -> tuple[int, int] | str:
    """Lines and columns that are averaged, or why no window is."""
    if len(shape) != 4:
        return f"it averages a tensor of shape {shape}, the device images"
    if isinstance(operation, Mean):
        if operation.axes != _IMAGE_AXES:
            return f"it averages axes {operation.axes}, the device lines and pixels (1, 2)"
        return shape[1], shape[2]
    assert isinstance(operation, AveragePool)
    if any(operation.padding):
        return "windows that reach over the border are averages of fewer pixels"
    return operation.window


@cache
def _numbers(
    operation: IntegerOperation,
    window: tuple[int, int],
    pixels: Range,
    rule: RequantizeRule,
    has_constant: bool,
) -> DeviceNumbers | None:
    count = window[0] * window[1]
    low, high = getattr(operation, "low", INT8_MIN), getattr(operation, "high", INT8_MAX)
    steps = steps_of(
        _of_sums(operation, window),
        count * pixels.low,
        count * pixels.high,
        np.arange(low + 1, high + 1),
    )
    scale = getattr(operation, "scale", 1.0) / count
    return device_numbers(steps, rule, scale, 0, has_constant)


def _of_sums(
    operation: IntegerOperation, window: tuple[int, int]
) -> Callable[[np.ndarray], np.ndarray]:
    """The average as a function of the sum of a window: of any pixels that have it."""
    count = window[0] * window[1]
    if isinstance(operation, AveragePool):
        operation = replace(operation, strides=(1, 1))

    def average(sums: np.ndarray) -> np.ndarray:
        each, rest = np.divmod(sums, count)
        image = each + (np.arange(count)[:, np.newaxis] < rest)
        return operation.evaluate(image.astype(np.int8).reshape(1, *window, -1)).reshape(-1)

    return average


def _form(
    named: Named,
    image: relax.Var,
    window: tuple[int, int],
    numbers: DeviceNumbers,
    has_constant: bool,
) -> Form:
    operation, shape = named.operation, shape_of(named.var)
    low, high = getattr(operation, "low", INT8_MIN), getattr(operation, "high", INT8_MAX)
    name, rescale = named.var.name, Rescale(numbers.scale, low, high)
    if not has_constant:
        return ImageSumForm(name, (), rescale, image, 1, shape)
    strides = operation.strides if isinstance(operation, AveragePool) else (1, 1)
    return WindowSumForm(name, (), rescale, image, window, strides, numbers.offset, shape)
