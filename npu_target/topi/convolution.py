"""What convolutions of all groupings have in common: how they are spelled in a network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from ..relax_graph import attr_ints, constant_of, shape_of
from .output import output_attributes
from .pattern import Match, Spelling, product

if TYPE_CHECKING:
    from ..device.numbers import Numbers


@cache
def spellings(numbers: Numbers) -> tuple[Spelling, ...]:
    """conv2d of any grouping, of an image that may be padded before, into sums, requantized or
    not."""
    return tuple(
        product("relax.nn.conv2d", numbers, sums=sums, is_padded=is_padded)
        for sums in (False, True)
        for is_padded in (True, False)
    )


@dataclass(frozen=True)
class Convolution:
    """A matched convolution: an image ``[n, h, w, ci]``, weights HWIO, ``co`` output channels.

    attributes : those that operators for it share, by name.
    """

    n: int
    h: int
    w: int
    ci: int
    co: int
    groups: int
    weight: relax.Expr | np.ndarray
    bias: np.ndarray | None
    attributes: dict[str, Any]

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is convolved by itself."""
        return self.groups > 1 and self.groups == self.ci == self.co

    @property
    def biases(self) -> tuple[np.ndarray, ...]:
        """The bias as arguments."""
        return () if self.bias is None else (self.bias,)

    @classmethod
    def of(cls, match: Match) -> Convolution | str:
        """The one of a match of `spellings`, or why definitions have none like it."""
        attrs = match.call.attrs
        if str(attrs.data_layout) != "NHWC" or str(attrs.out_layout) != "NHWC":
            return f"layout {attrs.data_layout} -> {attrs.out_layout}, the device computes NHWC"
        if attr_ints(attrs.dilation) != (1, 1):
            return f"dilation {attr_ints(attrs.dilation)}, the device has 1 only"
        weight = _hwio(match.part("weight"), str(attrs.kernel_layout))
        if isinstance(weight, str):
            return weight
        bias = match.bias(3)
        if isinstance(bias, str):
            return bias
        padding = match.padding(attr_ints(attrs.padding))
        if isinstance(padding, str):
            return padding
        kh, kw = weight.shape[:2] if isinstance(weight, np.ndarray) else shape_of(weight)[:2]
        attributes = {
            "kh": kh,
            "kw": kw,
            "strides": attr_ints(attrs.strides),
            "pad": padding.pad,
            "pad_value": padding.value if any(padding.pad) else 0,
            "bias": bias is not None,
            **output_attributes(match),
        }
        n, h, w, ci = shape_of(match.part("data"))
        co = shape_of(match.anchor)[3]
        return cls(n, h, w, ci, co, int(attrs.groups), weight, bias, attributes)


def _hwio(weight: relax.Expr, layout: str) -> relax.Expr | np.ndarray | str:
    """The weight in HWIO: a constant is transposed now, a variable must already be."""
    values = constant_of(weight)
    if sorted(layout) != sorted("HWIO"):
        return f"weight layout {layout}, the device takes HWIO"
    if values is not None:
        return np.ascontiguousarray(values.transpose([layout.find(axis) for axis in "HWIO"]))
    if layout != "HWIO":
        return f"weights in layout {layout} that are not constant, the device takes HWIO"
    return weight
