"""A sliding window over an image: what convolutions and pooling share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..device import DeviceConfig, kind_of
from ..intrin import most_step_rows
from .blocking import Steps, balanced_steps
from .operator import Operator, OperatorError, require_positive

Example = TypeVar("Example", bound=Operator)

# A step's inputs span at most this part of their memory.
_STEP_SHARE = 4


@dataclass(frozen=True)
class Window:
    """A window that slides over an image ``[h, w]``, padded by a value, 0 mostly."""

    h: int
    w: int
    kh: int
    kw: int
    strides: tuple[int, int]
    pad: tuple[int, int, int, int]  # top, left, bottom, right
    pad_value: int = 0

    def check(self, owner: str) -> None:
        """Raise :class:`OperatorError` if no output pixel exists or a number is senseless."""
        for name, value, parts in (
            ("strides", self.strides, "h, w"),
            ("pad", self.pad, "top, left, bottom, right"),
        ):
            if len(value) != len(parts.split(", ")):
                raise OperatorError(f"{owner}: {name} must be ({parts}), got {value}")
        require_positive(owner, h=self.h, w=self.w, kh=self.kh, kw=self.kw)
        require_positive(owner, stride_h=self.strides[0], stride_w=self.strides[1])
        if min(self.pad) < 0:
            raise OperatorError(f"{owner}: padding must not be negative, got {self.pad}")
        top, left, bottom, right = self.pad
        require_positive(owner, padded_h=self.h + top + bottom, padded_w=self.w + left + right)
        if not -128 <= self.pad_value <= 127:
            raise OperatorError(f"{owner}: pad_value must be -128 to 127, got {self.pad_value}")
        if self.out_h < 1 or self.out_w < 1:
            raise OperatorError(
                f"{owner}: a {self.kh}x{self.kw} window does not fit the padded image of "
                f"{self.h + self.pad[0] + self.pad[2]}x{self.w + self.pad[1] + self.pad[3]}"
            )

    def check_device(self, config: DeviceConfig) -> None:
        """Raise :class:`OperatorError` where a device's loads cannot pad by the value."""
        if self.fill and not kind_of(config).features(config).fills_borders:
            raise OperatorError(f"loads of {config.name} pad with 0, not with {self.fill}")

    @property
    def fill(self) -> int:
        """What is beside the image, 0 where nothing is looked at there."""
        return self.pad_value if any(self.pad) else 0

    @property
    def canonical_pad_value(self) -> int:
        """One for all values that are loaded."""
        return -128 if self.fill else 0

    @property
    def canonical(self) -> Window:
        """One for all that load alike."""
        return replace(self, pad_value=self.canonical_pad_value)

    @property
    def out_h(self) -> int:
        """Output lines."""
        return (self.h + self.pad[0] + self.pad[2] - self.kh) // self.strides[0] + 1

    @property
    def out_w(self) -> int:
        """Output pixels a line."""
        return (self.w + self.pad[1] + self.pad[3] - self.kw) // self.strides[1] + 1

    def steps(self, config: DeviceConfig) -> Steps:
        """The pixels of an output line in steps of the array.

        A step takes its inputs from rows of one tile, strides apart, so steps are shorter where
        the stride is so large that they would not leave room for other tiles.
        """
        farthest = config.memories.inputs.rows // _STEP_SHARE
        most = min(most_step_rows(config), max(1, farthest // self.strides[1]))
        return balanced_steps(self.out_w, most)

    @property
    def label(self) -> str:
        """The part of an operator's name that says the window."""
        kernel = f"k{self.kh}" if self.kh == self.kw else f"k{self.kh}x{self.kw}"
        stride = "x".join(str(s) for s in dict.fromkeys(self.strides))
        pad = "_".join(str(p) for p in (self.pad if len(set(self.pad)) > 1 else self.pad[:1]))
        return f"{kernel}_s{stride}_p{pad}{'_filled' if self.fill else ''}"

    def views(self, images: np.ndarray) -> np.ndarray:
        """Every window of images ``[n, h, w, c]``: ``[n, out_h, out_w, c, kh, kw]``."""
        top, left, bottom, right = self.pad
        widths = ((0, 0), (top, bottom), (left, right), (0, 0))
        padded = np.pad(images, widths, constant_values=self.fill)
        views = sliding_window_view(padded, (self.kh, self.kw), (1, 2))
        return views[:, :: self.strides[0], :: self.strides[1]]


def with_pad_value(config: DeviceConfig, *examples: Example) -> tuple[Example, ...]:
    """The examples, which pad by a value, where a device does; else none."""
    return examples if kind_of(config).features(config).fills_borders else ()
