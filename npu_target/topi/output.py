"""What an operator makes of its sums: elements, by the device's rule, or the sums as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import tirx

from ..device import DeviceConfig, kind_of
from ..device.block_scales import BlockScale, blocks_of
from .operator import CANONICAL_SCALE, OperatorError, require_finite

if TYPE_CHECKING:
    from ..device.numbers import Numbers
    from .pattern import Match


ChannelScale = float | tuple[float, ...]
"""One scale for all channels, or one for each."""


@dataclass(frozen=True)
class Output:
    """How sums are stored: requantized by ``scale``, with ``relu`` clipped at 0; or, with ``sums``,
    as they are, which has neither.

    ``scale`` may be one for each channel (of the output's last axis); devices have at most one for
    each of their blocks of channels.
    """

    scale: ChannelScale
    relu: bool = False
    sums: bool = False

    def check(self, owner: str, channels: int) -> None:
        """Raise :class:`OperatorError` for what no device stores."""
        for scale in self.scales:
            require_finite(owner, scale=scale)
        if not np.array(self.scales, "float32").any():
            raise OperatorError(f"{owner}: scale must not be 0 in float32, got {self.scales[0]}")
        if isinstance(self.scale, tuple) and len(self.scale) != channels:
            raise OperatorError(f"{owner}: {len(self.scale)} scales for {channels} channels")
        if self.relu and min(self.scales) < 0:
            raise OperatorError(
                f"{owner}: ReLU behind the scale {min(self.scales):.6g}, which is negative: stores "
                "clip sums at 0 before they scale them"
            )
        if self.sums and self.relu:
            raise OperatorError(f"{owner}: sums are stored as they are, not clipped at 0 (relu)")

    def check_device(self, config: DeviceConfig) -> None:
        """Raise :class:`OperatorError` where a device's stores cannot."""
        features = kind_of(config).features(config)
        if self.sums and not features.stores_sums:
            raise OperatorError(
                "sums that are not requantized as the device does it: the stores of "
                f"{config.name} give none as they are"
            )
        if self.sums or not isinstance(self.scale, tuple):
            return
        if not features.scales_blocks:
            raise OperatorError(
                f"{len(self.scale)} scales, one a channel: {config.name} has one for all"
            )
        if blocks_of(self.scale, config.dim) is None:
            raise OperatorError(
                f"{len(self.scale)} scales, one a channel, that differ within blocks of "
                f"{config.dim} channels: {config.name} has one a block"
            )

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale, or all of them."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,)

    @property
    def one_scale(self) -> float:
        """The scale of all channels, where it is one."""
        (scale,) = self.scales
        return scale

    @property
    def dtype(self) -> str:
        """Of the output."""
        return "int32" if self.sums else "int8"

    @property
    def label(self) -> str:
        """The part of an operator's name that says it."""
        if self.sums:
            return "_sums"
        return f"_scales{self._width}" if isinstance(self.scale, tuple) else ""

    @property
    def canonical_scale(self) -> ChannelScale:
        """One that stands for all which take as long: changing scales cost settings, their values
        nothing."""
        if self.sums or not isinstance(self.scale, tuple):
            return CANONICAL_SCALE
        width = self._width
        return tuple(
            CANONICAL_SCALE * (1 + channel // width % 2) for channel in range(len(self.scale))
        )

    @property
    def _width(self) -> int:
        """Of how many channels are the blocks that the scale changes between."""
        scales = self.scales
        changes = [at for at in range(1, len(scales)) if scales[at] != scales[at - 1]]
        return math.gcd(*changes) or len(scales)

    def padded_scale(self, channels: int) -> ChannelScale:
        """With the last channel's for those that are added behind it."""
        if not isinstance(self.scale, tuple):
            return self.scale
        return (*self.scale, *self.scale[-1:] * (channels - len(self.scale)))

    def expression(self, config: DeviceConfig) -> Callable[[tirx.Expr, tirx.Expr], tirx.Expr]:
        """What a definition stores of a sum, as a function of that and of the number of its block
        of channels."""
        if self.sums:
            return lambda value, block: value
        rule, scale = kind_of(config).numbers.rule, self.scale
        if not isinstance(scale, tuple):
            return lambda value, block: rule.expression(value, scale, self.relu)
        blocks = blocks_of(scale, config.dim)
        assert blocks is not None
        # Neighbouring blocks of one scale have it once, so that a store may be of all of them.
        changes = [at for at in range(1, len(blocks)) if blocks[at] != blocks[at - 1]]
        together = math.gcd(*changes) or len(blocks)
        groups = blocks[::together]

        def element(value: tirx.Expr, block: tirx.Expr) -> tirx.Expr:
            group = block if together == 1 else tirx.floordiv(block, together)
            return rule.expression(value, BlockScale(groups, group), self.relu)

        return element

    def evaluate(self, sums: np.ndarray, numbers: Numbers) -> np.ndarray:
        """What is stored of int32 sums."""
        if self.sums:
            return sums
        scale = np.array(self.scale) if isinstance(self.scale, tuple) else self.scale
        return numbers.rule.evaluate(sums, scale, self.relu)


def output_attributes(match: Match) -> dict[str, Any]:
    """The attributes by which an operator stores what a match ends in."""
    return {"sums": True} if match.spelling.sums else {"relu": match.relu, "scale": match.scale}
