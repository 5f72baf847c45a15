"""Scheduled kernels, marked for the device, as a partitioned network takes them."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..codegen_tir import PIPELINE
from ..device import DeviceConfig
from ..partition.partitioner import Lowering
from ..pipeline_options import DEFAULT, PipelineOptions
from ..schedule_rules import default_schedule
from ..target import make_target
from ..topi import Operator
from .log import TuningLog
from .report import TUNED, LayerResult
from .schedules import tuned_schedule

# TVM's mark for a function that must not be fused with others.
_OPAQUE = 8


def device_kernel(
    schedule: Schedule, config: DeviceConfig, pipeline: PipelineOptions = DEFAULT
) -> PrimFunc:
    """What was scheduled, to be compiled by `pipeline` for the device."""
    func = schedule.mod["main"]
    if pipeline != DEFAULT:
        func = func.with_attr(PIPELINE, str(pipeline))
    target = make_target(config)
    return func.with_attr({"target": target, "tirx.is_scheduled": True, "op_pattern": _OPAQUE})


def best_kernels(
    results: Sequence[LayerResult],
    config: DeviceConfig,
    log: TuningLog,
    pipeline: PipelineOptions = DEFAULT,
) -> Lowering:
    """Kernels of layers by the schedules that `results` are of, with a network's own scales and
    activations. For `partition`, of a network whose layers are all in `results`; raises LogError as
    `tuned_schedule` does."""
    sources = {result.layer.operator: result.source for result in results}

    def lower(operator: Operator, _: DeviceConfig) -> PrimFunc:
        schedule = None
        if sources[operator.canonical()] == TUNED:
            schedule = tuned_schedule(operator, config, log)
        return device_kernel(
            schedule or default_schedule(operator.kernel(), config), config, pipeline
        )

    return lower
