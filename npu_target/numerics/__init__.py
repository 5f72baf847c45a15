"""Exact or fast: by which numbers a device computes the layers of an integer network."""

from .decide import Decided, check_all_on_device, decide
from .errors import NumericsError
from .layer import Layer
from .options import EXACT, FAST, MODES, NumericsOptions

__all__ = [
    "EXACT",
    "FAST",
    "MODES",
    "Decided",
    "Layer",
    "NumericsError",
    "NumericsOptions",
    "check_all_on_device",
    "decide",
]
