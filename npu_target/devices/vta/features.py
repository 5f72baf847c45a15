"""What definitions may use of a VTA."""

from __future__ import annotations

from ...device import Elementwise, ElementwiseStep, Features, MultiplyStep
from .config import VtaConfig

GEMM_CALL, MAX_CALL, FILL_CALL = "npu.vta_gemm", "npu.vta_max", "npu.vta_fill"
# Rows of a step as definitions have it; steps that follow each other become one command.
_STEP_ROWS = 16


def features(config: VtaConfig) -> Features:
    """Definitions have square blocks and steps of single rows: no step of others is theirs. Stores
    narrow: a STORE takes int8 elements from the output buffer, which has the low byte of each
    sum, so that sums do not leave the device."""
    is_square = config.batch == 1 and config.block_in == config.block_out
    return Features(
        row_elements=config.block_in,
        step=MultiplyStep(GEMM_CALL, _STEP_ROWS) if is_square else None,
        fills_borders=True,
        elementwise=(
            ElementwiseStep(Elementwise.MAX, MAX_CALL),
            ElementwiseStep(Elementwise.FILL, FILL_CALL),
        ),
    )
