"""The manifest of Gemmini."""

from __future__ import annotations

from ...device import DeviceKind
from .config import GemminiConfig
from .presets import PRESETS

GEMMINI = DeviceKind(
    name="gemmini",
    config=GemminiConfig,
    presets=PRESETS,
    commands_at="npu_target.devices.gemmini.isa:COMMANDS",
    intrinsics_at="npu_target.devices.gemmini.gemm:INTRINSICS",
    copy_rules_at="npu_target.devices.gemmini.copy_rules:GemminiCopyRules",
    emission_at="npu_target.devices.gemmini.emission:GemminiEmission",
)
