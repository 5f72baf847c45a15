"""Biases in the steps of the sums that they are added to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .constants import Constant

# A dequantized bias has the scale of the sums but for rounding.
_SAME_SCALE = 2.0**-20
_LARGEST = 2.0**31 - 1


@dataclass(frozen=True)
class BiasSteps:
    """values : int64, one for each index of the last axis. remark : what was rounded."""

    values: np.ndarray = field(repr=False)
    remark: str | None = None


def bias_steps(bias: Constant, scale: np.ndarray, shape: tuple[int, ...]) -> BiasSteps | None:
    """A bias on sums of ``shape`` whose steps are worth ``scale`` (float32, one or one for each
    index of the last axis); None for one that differs along another axis, or that int32 does not
    hold."""
    full = (1,) * (len(shape) - bias.values.ndim) + bias.values.shape
    if len(full) != len(shape) or any(extent != 1 for extent in full[:-1]):
        return None
    if full[-1] not in (1, shape[-1]):
        return None
    if bias.scale is not None and _is_scale(bias, scale):
        integers = np.broadcast_to(bias.centred.reshape(-1), shape[-1:]).astype(np.int64)
        return BiasSteps(integers)
    real = np.broadcast_to(bias.real.reshape(-1), shape[-1:])
    with np.errstate(over="ignore", invalid="ignore"):
        steps = real / scale.astype(np.float64)
    if not np.isfinite(steps).all() or np.abs(steps).max(initial=0.0) > _LARGEST:
        return None
    rounded = np.rint(steps)
    worst = float(np.abs(rounded - steps).max(initial=0.0))
    kind = "float" if bias.scale is None else "of a scale of its own"
    remark = f"its bias, {kind}, is rounded to steps of its sums (by {worst:.2g} at most)"
    return BiasSteps(rounded.astype(np.int64), remark if worst else None)


def _is_scale(bias: Constant, scale: np.ndarray) -> bool:
    assert bias.scale is not None
    given = bias.scale.reshape(-1).astype(np.float64)
    if given.size not in (1, scale.size) and scale.size != 1:
        return False
    return bool((np.abs(given / scale.astype(np.float64) - 1.0) < _SAME_SCALE).all())
