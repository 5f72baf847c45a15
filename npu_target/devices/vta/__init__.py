"""VTA: a matrix unit and an ALU with buffers of their own, ordered by tokens."""

from .config import VtaConfig
from .kind import VTA
from .presets import PRESETS

__all__ = ["PRESETS", "VTA", "VtaConfig"]
