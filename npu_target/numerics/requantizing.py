"""Products and their requantization: how near the device comes to it."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..device.block_scales import blocks_of
from ..device.requantize import RequantizeRule
from ..device.scale_rule import ScaleRule
from ..integer import Requantize
from ..relax_graph import shape_of
from .channel_scales import folded
from .forms import Form, ImageSumForm, ProductForm, Rescale, WindowSumForm
from .layer import Candidate, Named, Network
from .products import Product, product_of, sum_range
from .ranges import Range, zero_point_of
from .steps import DeviceNumbers, Steps, device_numbers, steps_of

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
    blocks: tuple[float, ...] | None = operation.scale[:1]
    if (scales != scales[0]).any():
        size = None if product.is_image_sum else network.scaled_channels
        blocks = None if size is None else blocks_of(operation.scale, size)
    if blocks is not None:
        return _by_its_scales(network, named, operation, product, blocks, is_fast)
    if not is_fast:
        one = (
            f"for each {network.scaled_channels} channels" if network.scaled_channels else "a store"
        )
        return f"{len(scales)} scales, one a channel: the device has one {one}"
    return _folded(network, named, operation, product, least_snr_db)


def _by_its_scales(
    network: Network,
    named: Named,
    operation: Requantize,
    product: Product,
    blocks: tuple[float, ...],
    is_fast: bool,
) -> Candidate | str:
    """With the scale of each block of channels, or the one of all."""
    text, size = "", network.scaled_channels or 1
    of_channel = np.zeros(len(product.bias), np.int64)
    if len(blocks) > 1:
        text, of_channel = ", one for each block", np.arange(len(product.bias)) // size
    if operation.rule == "float32" and network.rule == ScaleRule():
        scales = np.array(blocks, np.float32)[of_channel]
        form = _form(named, operation, product, scales, None, product.bias)
        return Candidate(form, True, "the device's own rule" + text, "its rule is the device's")
    sums = sum_range(network.mod, network.graph, product)
    if sums.low < _INT32.min or sums.high > _INT32.max:
        return f"its sums may be {sums.low} to {sums.high}, which int32 does not hold"
    found, seen = [], 0
    for scale in blocks:
        steps, numbers = _numbers(operation.rule, operation, scale, sums, network.rule)
        if numbers is None:
            return _no_scale(network.rule, scale)
        found.append(numbers)
        seen += int(((steps.low < steps.least) & (steps.least <= steps.high)).sum())
    moved = sum(numbers.moved for numbers in found)
    if moved and not is_fast:
        return (
            f"{operation.rule}: {moved} of its {seen} steps would be at another sum by the "
            f"device's rule ({network.rule.name})"
        )
    why = f"all its {seen} steps are at the same sums"
    if moved:
        why = f"{moved} of its {seen} steps are at other sums"
    has_offset = any(numbers.offset for numbers in found)
    scales, offsets = (
        np.array([getattr(numbers, name) for numbers in found])[of_channel]
        for name in ("scale", "offset")
    )
    form = _form(named, operation, product, scales, None, product.bias + offsets)
    text = ("zero point in the bias" if has_offset else "float32 scale") + text
    return Candidate(form, moved == 0, text, why)


@cache
def _numbers(
    _: str, operation: Requantize, scale: float, sums: Range, rule: RequantizeRule
) -> tuple[Steps, DeviceNumbers | None]:
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
    """With the device's scales, the channels' ratios to them taken into the int8 weights."""
    if product.weight is None:
        return "its scales are one a channel, and it has no weights to take them in"
    known = network.zero_points
    zero_in = zero_point_of(network.mod, network.graph, product.data, known) or 0
    found = folded(
        np.moveaxis(product.weight, product.weight_axis, -1),
        np.array(operation.scale),
        product.bias,
        (zero_in, operation.zero_point),
        network.rule,
        network.scaled_channels,
    )
    if isinstance(found, str):
        return found
    if found.snr_db < least_snr_db:
        return (
            f"{len(operation.scale)} scales, one a channel: weights that take them in have "
            f"{found.snr_db:.1f} dB, less than {least_snr_db:g}"
        )
    weight = np.ascontiguousarray(np.moveaxis(found.weight, -1, product.weight_axis))
    form = _form(named, operation, product, found.scale, weight, found.bias)
    text = "scales in the weights"
    if len(set(found.scale.tolist())) > 1:
        text += f" and one for each {network.scaled_channels} channels"
    return Candidate(form, False, text, f"its weights have {found.snr_db:.1f} dB")


def _form(
    named: Named,
    operation: Requantize,
    product: Product,
    scales: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray,
) -> Form:
    """``scales`` are one for each channel."""
    name, replaced = named.var.name, product.bindings
    values = tuple(scales.tolist())
    scale = values if len(set(values)) > 1 else values[0]
    rescale = Rescale(scale, operation.low, operation.high)
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
