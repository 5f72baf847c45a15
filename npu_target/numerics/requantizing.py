"""Products and their requantization: how near the device comes to it."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..device.requantize import RequantizeRule
from ..device.scale_rule import ScaleRule
from ..integer import Requantize
from ..quantize.calibrate import power_of_two_from
from ..relax_graph import shape_of
from .forms import Form, ImageSumForm, ProductForm, Rescale, WindowSumForm
from .layer import Candidate, Named, Network
from .products import Product, product_of, sum_range
from .ranges import Range, zero_point_of
from .steps import DeviceNumbers, Steps, device_numbers, steps_of

_INT8_LIMIT = 127
_INT32 = np.iinfo(np.int32)


def product_candidate(
    network: Network, named: Named, is_fast: bool, least_snr_db: float
) -> Candidate | str:
    """The device's form of a requantized product, an exact one unless ``is_fast``; or why there is
    none."""
    operation, graph = named.operation, network.graph
    assert isinstance(operation, Requantize)
    product = product_of(graph, named.inputs[0])
    if isinstance(product, str):
        return product
    if graph.sole_user(product.sums) is None:
        return "its sums are used elsewhere as well"
    if product.is_image_sum and (product.bias != product.bias[0]).any():
        return "what is added to its sums is not one number"
    scales = np.array(operation.scale, np.float32)
    if (scales <= 0).any():
        return "it has a scale that is not positive"
    if (scales != scales[0]).any():
        if not is_fast:
            return f"{len(scales)} scales, one a channel: the device has one a store"
        return _folded(network, named, operation, product, least_snr_db)
    return _one_scale(network, named, operation, product, is_fast)


def _one_scale(
    network: Network, named: Named, operation: Requantize, product: Product, is_fast: bool
) -> Candidate | str:
    if operation.rule == "float32" and network.rule == ScaleRule():
        numbers = DeviceNumbers(float(np.float32(operation.scale[0])), 0, 0)
        form = _form(named, operation, product, numbers, None, product.bias)
        return Candidate(form, True, "the device's own rule", "its rule is the device's")
    sums = sum_range(network.mod, network.graph, product)
    if sums.low < _INT32.min or sums.high > _INT32.max:
        return f"its sums may be {sums.low} to {sums.high}, which int32 does not hold"
    steps, found = _numbers(operation.rule, operation, sums, network.rule)
    if found is None:
        return _no_scale(network.rule, operation.scale[0])
    seen = int(((steps.low < steps.least) & (steps.least <= steps.high)).sum())
    text = "zero point in the bias" if found.offset else "float32 scale"
    if found.moved and not is_fast:
        return (
            f"{operation.rule}: {found.moved} of its {seen} steps would be at another sum by the "
            f"device's rule ({network.rule.name})"
        )
    why = f"all its {seen} steps are at the same sums"
    if found.moved:
        why = f"{found.moved} of its {seen} steps are at other sums"
    form = _form(named, operation, product, found, None, product.bias + found.offset)
    return Candidate(form, found.moved == 0, text, why)


@cache
def _numbers(
    _: str, operation: Requantize, sums: Range, rule: RequantizeRule
) -> tuple[Steps, DeviceNumbers | None]:
    scale = operation.scale[0]
    levels = np.arange(operation.low + 1, operation.high + 1)
    one = Requantize(operation.rule, (scale,), operation.zero_point, operation.low, operation.high)
    steps = steps_of(one.evaluate, sums.low, sums.high, levels)
    return steps, device_numbers(steps, rule, scale, operation.zero_point / scale)


def _folded(
    network: Network,
    named: Named,
    operation: Requantize,
    product: Product,
    least_snr_db: float,
) -> Candidate | str:
    """With one scale, the channels' ratios to it taken into the int8 weights, which are rounded
    anew."""
    if product.weight is None:
        return "its scales are one a channel, and it has no weights to take them in"
    weight = np.moveaxis(product.weight.astype(np.float64), product.weight_axis, -1)
    axes = tuple(range(weight.ndim - 1))
    scales = np.array(operation.scale, np.float64)
    scale = float((scales * np.abs(weight).max(axes)).max()) / _INT8_LIMIT
    scale = max(scale, network.rule.least_scale, float(np.finfo(np.float32).tiny))
    if network.rule.powers_of_two:
        scale = power_of_two_from(scale)
    # Rounded up, so that no weight is more than 127.
    scale = float(np.nextafter(np.float32(scale), np.float32(np.inf)))
    if network.rule.powers_of_two:
        scale = power_of_two_from(scale)
    if network.rule.refusal(scale) is not None:
        return _no_scale(network.rule, scale)
    wanted = weight * (scales / scale)
    rounded = np.rint(wanted)
    signal, noise = float((wanted**2).sum()), float(((wanted - rounded) ** 2).sum())
    snr_db = float("inf") if noise == 0 else 10 * float(np.log10(max(signal, 1e-300) / noise))
    if snr_db < least_snr_db:
        return (
            f"{len(scales)} scales, one a channel: weights that take them in have {snr_db:.1f} dB, "
            f"less than {least_snr_db:g}"
        )
    known = network.zero_points
    zero_in = zero_point_of(network.mod, network.graph, product.data, known) or 0
    bias = (product.bias + zero_in * weight.sum(axes)) * (scales / scale)
    bias += operation.zero_point / scale - zero_in * rounded.sum(axes)
    if np.abs(bias).max(initial=0) > _INT32.max:
        return "with one scale its bias would be more than int32 holds"
    folded = np.moveaxis(rounded.astype(np.int8), -1, product.weight_axis)
    numbers = DeviceNumbers(scale, 0, 0)
    form = _form(
        named,
        operation,
        product,
        numbers,
        np.ascontiguousarray(folded),
        np.rint(bias).astype(np.int64),
    )
    return Candidate(form, False, "scales in the weights", f"its weights have {snr_db:.1f} dB")


def _form(
    named: Named,
    operation: Requantize,
    product: Product,
    numbers: DeviceNumbers,
    weight: np.ndarray | None,
    bias: np.ndarray,
) -> Form:
    name, replaced = named.var.name, product.bindings
    rescale = Rescale(numbers.scale, operation.low, operation.high)
    if not product.is_image_sum:
        return ProductForm(name, replaced, rescale, product, weight, bias)
    image, shape = product.data, shape_of(named.var)
    if not bias.any():
        return ImageSumForm(name, replaced, rescale, image, 1, shape)
    # The device's global average adds nothing; a convolution does.
    _, height, width, _ = shape_of(image)
    window, constant = (height, width), int(bias[0])
    return WindowSumForm(name, replaced, rescale, image, window, (1, 1), constant, shape)


def _no_scale(rule: RequantizeRule, scale: float) -> str:
    return rule.refusal(scale) or f"the device's rule ({rule.name}) has no such scale"
