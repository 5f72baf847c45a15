"""VTA: a matrix unit and an ALU with buffers of their own, ordered by tokens."""

from .config import PRESETS, VtaConfig

__all__ = ["PRESETS", "VtaConfig"]
