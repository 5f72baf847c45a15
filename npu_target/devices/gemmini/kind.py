"""The manifest of Gemmini."""

from __future__ import annotations

from ...device import DeviceKind
from .config import GemminiConfig
from .features import features
from .presets import PRESETS
from .profile import PROFILE

GEMMINI = DeviceKind(
    name="gemmini",
    config=GemminiConfig,
    presets=PRESETS,
    commands_at="npu_target.devices.gemmini.isa:COMMANDS",
    intrinsics_at="npu_target.devices.gemmini.gemm:INTRINSICS",
    copy_rules_at="npu_target.devices.gemmini.copy_rules:GemminiCopyRules",
    emission_at="npu_target.devices.gemmini.emission:GemminiEmission",
    numbers_at="npu_target.devices.gemmini.numbers:NUMBERS",
    features=features,
    operators=(
        "conv2d",
        "depthwise_conv2d",
        "matmul",
        "add",
        "max_pool2d",
        "global_avg_pool",
    ),
    routes_at="npu_target.devices.gemmini.routes:ROUTES",
    cost_at="npu_target.devices.gemmini.cost:COST",
    shape_fields=(
        "dim",
        "spad_banks",
        "spad_bank_rows",
        "acc_banks",
        "acc_bank_rows",
        "dma_request_bytes",
    ),
    profile=PROFILE,
    start_header_at="npu_target.devices.gemmini:host/npu_start.h",
    calibration_at="npu_target.devices.gemmini.calibration:CALIBRATION",
)
