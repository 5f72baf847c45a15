"""The known devices."""

from __future__ import annotations

from .config import VtaConfig

PRESETS = (
    VtaConfig(),
    # The buffers hold the same bytes.
    VtaConfig(name="vta-1x32x32", log_block_in=5, log_block_out=5),
)
