"""The manifest of VTA."""

from __future__ import annotations

from ...device import DeviceKind
from .config import VtaConfig
from .features import features
from .presets import PRESETS

VTA = DeviceKind(
    name="vta",
    config=VtaConfig,
    presets=PRESETS,
    commands_at="npu_target.devices.vta.isa:COMMANDS",
    intrinsics_at="npu_target.devices.vta.steps:INTRINSICS",
    copy_rules_at="npu_target.devices.vta.copy_rules:VtaCopyRules",
    emission_at="npu_target.devices.vta.emission:VtaEmission",
    numbers_at="npu_target.devices.vta.numbers:NUMBERS",
    features=features,
    operators=("conv2d", "depthwise_conv2d", "matmul", "add", "max_pool2d", "global_avg_pool"),
    shape_fields=(
        "log_batch",
        "log_block_in",
        "log_block_out",
        "log_uop_buffer_bytes",
        "log_inp_buffer_bytes",
        "log_wgt_buffer_bytes",
        "log_acc_buffer_bytes",
    ),
)
