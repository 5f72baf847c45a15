"""Gemmini: a systolic array with a scratchpad and an accumulator, behind RoCC commands."""

from .config import GemminiConfig
from .kind import GEMMINI
from .presets import PRESETS

__all__ = ["GEMMINI", "PRESETS", "GemminiConfig"]
