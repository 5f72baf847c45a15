"""What an operator makes of its sums: elements, by the device's rule, or the sums as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import tirx

from ..device import DeviceConfig, kind_of
from .operator import OperatorError, require_finite

if TYPE_CHECKING:
    from ..device.numbers import Numbers
    from .pattern import Match


@dataclass(frozen=True)
class Output:
    """How sums are stored: requantized by ``scale``, with ``relu`` clipped at 0; or, with ``sums``,
    as they are, which has neither."""

    scale: float
    relu: bool = False
    sums: bool = False

    def check(self, owner: str) -> None:
        """Raise :class:`OperatorError` for what no device stores."""
        require_finite(owner, scale=self.scale)
        if self.sums and self.relu:
            raise OperatorError(f"{owner}: sums are stored as they are, not clipped at 0 (relu)")

    def check_device(self, config: DeviceConfig) -> None:
        """Raise :class:`OperatorError` where a device's stores cannot."""
        if self.sums and not kind_of(config).features(config).stores_sums:
            raise OperatorError(
                "sums that are not requantized as the device does it: the stores of "
                f"{config.name} give none as they are"
            )

    @property
    def dtype(self) -> str:
        """Of the output."""
        return "int32" if self.sums else "int8"

    @property
    def label(self) -> str:
        """The part of an operator's name that says it."""
        return "_sums" if self.sums else ""

    def expression(self, config: DeviceConfig) -> Callable[[tirx.Expr], tirx.Expr]:
        """What a definition stores of a sum, as a function of expressions."""
        if self.sums:
            return lambda value: value
        rule = kind_of(config).numbers.rule
        return lambda value: rule.expression(value, self.scale, self.relu)

    def evaluate(self, sums: np.ndarray, numbers: Numbers) -> np.ndarray:
        """What is stored of int32 sums."""
        return sums if self.sums else numbers.rule.evaluate(sums, self.scale, self.relu)


def output_attributes(match: Match) -> dict[str, Any]:
    """The attributes by which an operator stores what a match ends in."""
    return {"sums": True} if match.spelling.sums else {"relu": match.relu, "scale": match.scale}
