"""What operators for convolutions of all groupings have in common: a window, and an output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from . import convolution
from .mac_operator import MacOperator
from .output import ChannelScale, Output
from .window import Window

if TYPE_CHECKING:
    from ..device import DeviceConfig
    from ..device.numbers import Numbers
    from .pattern import Spelling


class ConvolutionOperator(MacOperator):
    """Base of operators for a convolution of an image ``x`` by a ``weight``, which have these
    fields."""

    seldom: ClassVar[tuple[str, ...]] = ("sums", "pad_value")
    channel_scales: ClassVar[bool] = True
    weights: ClassVar[tuple[str, ...]] = ("weight",)

    h: int
    w: int
    kh: int
    kw: int
    strides: tuple[int, int]
    pad: tuple[int, int, int, int]
    relu: bool
    scale: ChannelScale
    sums: bool
    pad_value: int

    @property
    def output(self) -> Output:
        return Output(self.scale, self.relu, self.sums)

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(self.h, self.w, self.kh, self.kw, self.strides, self.pad, self.pad_value)

    @property
    def partly_read(self) -> tuple[str, ...]:
        return ("x",)

    def check_device(self, config: DeviceConfig) -> None:
        super().check_device(config)
        self.window.check_device(config)

    @classmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        return convolution.spellings(numbers)
