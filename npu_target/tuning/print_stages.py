"""What `--print-ir-after` shows of a network's layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tvm.s_tir import Schedule

from ..codegen_tir import build_program
from ..device import DeviceConfig
from ..pipeline_options import PipelineOptions
from ..stages import StagePrinter
from .report import LayerResult


def print_stages(
    stages: frozenset[str],
    folder: Path | None,
    results: Iterable[LayerResult],
    config: DeviceConfig,
    schedule: Callable[[LayerResult], Schedule],
    pipeline: PipelineOptions,
) -> None:
    """Compile each layer's chosen schedule, which `schedule` gives, once more and show these stages
    of it, in files in `folder` if there is one."""
    if not stages:
        return
    for result in results:
        func, name = schedule(result).mod["main"], result.layer.name
        build_program(func, config, name, None, pipeline, StagePrinter(name, stages, folder))
