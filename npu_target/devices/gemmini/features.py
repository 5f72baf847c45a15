"""What definitions may use of a Gemmini."""

from __future__ import annotations

from ...device import Features, MultiplyStep, PooledStores
from .config import GemminiConfig

# Two bits each in the store configuration, and 0 switches pooling off.
_MAX_WINDOW = _MAX_STRIDE = 3
GEMM_CALL = "npu.gemm"


def features(config: GemminiConfig) -> Features:
    """Those that the generator was asked to build in."""
    return Features(
        pooled_stores=PooledStores(_MAX_WINDOW, _MAX_STRIDE) if config.has_pooling else None,
        stacked_loads=config.has_first_layer_pixel_repeats,
        step=MultiplyStep(GEMM_CALL, config.dim),
        stores_sums=config.has_acc_full_width_store,
        fills_borders=True,
        scales_blocks=True,
    )
