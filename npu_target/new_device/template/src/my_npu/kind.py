"""The manifest: which parts a device of this kind has, and where they are.

Places are strings, for this is read in the middle of `import tvm`; the parts may import TVM.
"""

from __future__ import annotations

from npu_target.device import DeviceKind, Features, MultiplyStep

from .config import PRESETS, MyNpuConfig

MULTIPLY = "my_npu.multiply"  # what the step is called in TensorIR


def features(config: MyNpuConfig) -> Features:
    """What definitions of operators may use, beside memories: no pooled stores here."""
    return Features(step=MultiplyStep(MULTIPLY, config.lanes))


KIND = DeviceKind(
    name="my_npu",
    config=MyNpuConfig,
    presets=PRESETS,
    commands_at="my_npu.commands:COMMANDS",
    simulator_at="my_npu.simulator:simulate",
    numbers_at="my_npu.numbers:NUMBERS",
    intrinsics_at="my_npu.compute:INTRINSICS",
    copy_rules_at="my_npu.copies:MyNpuCopyRules",
    emission_at="my_npu.copies:MyNpuEmission",
    features=features,
    operators=("conv2d", "depthwise_conv2d", "matmul", "add", "global_avg_pool"),
    shape_fields=("lanes", "vector_rows", "sum_rows", "most_rows"),
)
