"""What the integers of a tensor are worth."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantization:
    """``real = scale * (integer - zero_point)``.

    scale : one for the tensor, or one for each index of ``axis``.
    zero_point : as many as there are scales, or one for all.
    axis : counted from the front; None where there is one scale.

    Raises
    ------
    ValueError
        for a scale that is not positive and finite, and for numbers that do not belong together.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...] = (0,)
    axis: int | None = None

    def __post_init__(self) -> None:
        for scale in self.scale:
            if not (math.isfinite(scale) and scale > 0):
                raise ValueError(f"a scale must be positive and finite, got {scale}")
        if not self.scale or len(self.zero_point) not in (1, len(self.scale)):
            raise ValueError(
                f"{len(self.zero_point)} zero points and {len(self.scale)} scales do not belong "
                "together"
            )
        if self.axis is None and len(self.scale) != 1:
            raise ValueError(f"{len(self.scale)} scales without an axis that they belong to")
        if self.axis is not None and self.axis < 0:
            raise ValueError(f"an axis is counted from the front, got {self.axis}")
