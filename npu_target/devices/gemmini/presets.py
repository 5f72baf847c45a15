"""The known devices."""

from __future__ import annotations

from .config import GemminiConfig

_DEFAULT = GemminiConfig()

# The memories hold the same in each: 256 KiB of scratchpad, 64 KiB of accumulator.
PRESETS = (
    _DEFAULT,
    _DEFAULT.varied({"dim": 8}).replace(name="gemmini-8x8"),
    _DEFAULT.varied({"dim": 32}).replace(name="gemmini-32x32"),
)
