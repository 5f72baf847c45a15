"""Products with one scale for each channel, on a device that has one for all, or one for each block
of them: the scales' ratios to those of the device are taken into the int8 weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..device.requantize import RequantizeRule
from ..quantize.calibrate import power_of_two_from

_INT8_LIMIT = 127
_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Folded:
    """What the device is told instead of a weight and its scales.

    weight : int8, the channels last. scale : one for each channel. bias : int64, one a channel.
    snr_db : of the weights, which were rounded anew, by what they count for the results.
    """

    weight: np.ndarray
    scale: np.ndarray
    bias: np.ndarray
    snr_db: float


def folded(
    weight: np.ndarray,
    scales: np.ndarray,
    bias: np.ndarray,
    zero_points: tuple[int, int],
    rule: RequantizeRule,
    block: int | None,
) -> Folded | str:
    """Weights (the channels last) that take in what ``scales`` are more than those of their blocks
    of channels, all of them one block where ``block`` is None; or why the device has none such.

    ``zero_points`` are those of the product's input, which the bias has taken in, and of the
    result, which it shall.
    """
    axes = tuple(range(weight.ndim - 1))
    weight = weight.astype(np.float64)
    wanted_scales = scales.astype(np.float64)
    size = len(scales) if block is None else block
    largest = np.abs(weight).max(axes, initial=0.0)
    scale = np.empty_like(wanted_scales)
    for first in range(0, len(scales), size):
        part = slice(first, first + size)
        found = _scale_of(wanted_scales[part], largest[part], rule)
        if isinstance(found, str):
            return found
        scale[part] = found
    zero_in, zero_out = zero_points
    ratios = wanted_scales / scale
    wanted = weight * ratios
    rounded = _rounded(wanted)
    signal, noise = (
        float((values**2).sum()) for values in (wanted * scale, (wanted - rounded) * scale)
    )
    snr_db = float("inf") if noise == 0 else 10 * float(np.log10(max(signal, 1e-300) / noise))
    total = (bias + zero_in * weight.sum(axes)) * ratios
    total += zero_out / scale - zero_in * rounded.sum(axes)
    if np.abs(total).max(initial=0) > _INT32.max:
        return "with the device's scales its bias would be more than int32 holds"
    return Folded(rounded.astype(np.int8), scale, np.rint(total).astype(np.int64), snr_db)


def _rounded(wanted: np.ndarray) -> np.ndarray:
    """Whole numbers less than one off, whose sum over each channel is the nearest to what it was.
    Results are as far off as sums of inputs times what was rounded away. Most inputs are of one
    sign, behind a ReLU, so what they have in common counts the most, and falls out."""
    flat = wanted.reshape(-1, wanted.shape[-1])
    rounded = np.rint(flat)
    lost = flat - rounded
    missing = np.rint(lost.sum(0)).astype(int)
    for channel in np.flatnonzero(missing):
        step = np.sign(missing[channel])
        gained = lost[:, channel] * step
        # Those that were nearest to the next number, and for which there is one.
        gained[np.abs(rounded[:, channel] + step) > _INT8_LIMIT] = -np.inf
        chosen = np.argsort(-gained, kind="stable")[: abs(missing[channel])]
        rounded[chosen[gained[chosen] > -np.inf], channel] += step
    return rounded.reshape(wanted.shape)


def _scale_of(scales: np.ndarray, largest: np.ndarray, rule: RequantizeRule) -> float | str:
    """The scale of a block, by which no weight gets more than int8 holds; ``largest`` are those of
    its channels. Where it is all channels' own, nothing is rounded anew."""
    if (scales == scales[0]).all() and rule.refusal(float(scales[0])) is None:
        return float(scales[0])
    scale = float((scales * largest).max()) / _INT8_LIMIT
    scale = max(scale, rule.least_scale, float(np.finfo(np.float32).tiny))
    if rule.powers_of_two:
        scale = power_of_two_from(scale)
    # Rounded up, so that no weight is more than 127.
    scale = float(np.nextafter(np.float32(scale), np.float32(np.inf)))
    if rule.powers_of_two:
        scale = power_of_two_from(scale)
    refusal = rule.refusal(scale)
    return scale if refusal is None else refusal
