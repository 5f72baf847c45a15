"""Gemmini's numbers: int8 elements, int32 sums, a float32 scale a store."""

from __future__ import annotations

from ...device.numbers import Numbers
from ...device.scale_rule import ScaleRule

NUMBERS = Numbers(ScaleRule())
