"""From a trace to a program and what is known of it before it runs. In a builder process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import tvm
from tvm.ir import IRModule
from tvm.s_tir import Schedule, TensorIntrin
from tvm.s_tir.schedule import Trace

from ..codegen_tir import CodegenError, DoesNotFit, build
from ..device import DeviceConfig, kind_of
from ..device_api import HostCost, host_cost
from ..packing import Packing
from ..passes.conditions import without_sure_conditions
from ..pipeline_options import DEFAULT, PipelineOptions
from ..topi import Operator
from .failure import BUILD_ERROR, DOES_NOT_APPLY, DOES_NOT_FIT, Failure, last_line
from .features import features_of
from .workload import workload_module

_DIGEST_DIGITS = 16
# Names of functions in a definition: the operator's, and those of an intrinsic.
_MAIN, _DESCRIPTION, _IMPLEMENTATION = "main", ".description", ".implementation"


@dataclass(frozen=True)
class CompileJob:
    """A schedule of the workload of `operator`: its trace in MetaSchedule's JSON form, and what
    that begins from (`definition`, made anew where it is not given), and how it is compiled."""

    operator: Operator
    config: DeviceConfig
    trace: Any
    definition: str | None = None
    pipeline: PipelineOptions = DEFAULT


@dataclass(frozen=True)
class Compiled:
    """A program file; equal digests are equal programs on equal arguments. It takes `least_cycles`
    at least; `features` is what the cost model sees of it; `host` is what it asks of the host core;
    `packings` are the layouts of packed arguments, by name."""

    program: bytes
    digest: str
    least_cycles: int
    features: np.ndarray
    host: HostCost
    packings: Mapping[str, Packing] = field(default_factory=dict)


def compile_trace(job: CompileJob) -> Compiled | Failure:
    """Compile, or say why that cannot be: does_not_apply, does_not_fit or build_error."""
    schedule = _unscheduled(job.definition or definition(job.operator, job.config)).copy()
    try:
        Trace.apply_json_to_schedule(job.trace, schedule)
    except (RuntimeError, ValueError, TypeError) as error:
        return Failure(DOES_NOT_APPLY, last_line(error))
    try:
        func = schedule.mod["main"]
        program, packed = build(func, job.config, job.operator.name, None, job.pipeline)
    except DoesNotFit as error:
        return Failure(DOES_NOT_FIT, str(error))
    except CodegenError as error:
        return Failure(BUILD_ERROR, str(error))
    work = kind_of(job.config).cost.work(program, job.operator)
    data = program.to_bytes()
    layouts = "".join(packed[name].to_json() for name in sorted(packed))
    digest = hashlib.sha256(data + layouts.encode()).hexdigest()[:_DIGEST_DIGITS]
    features = features_of(job.operator, work)
    return Compiled(data, digest, work.least_cycles, features, host_cost(data), packed)


@lru_cache(maxsize=64)
def definition(operator: Operator, config: DeviceConfig) -> str:
    """What schedules of the operator's workload begin from, with its intrinsics, as text: reading
    that takes a builder process milliseconds, parsing TVMScript some tenths of a second."""
    func = workload_module(operator, config)["main"]
    functions = {_MAIN: without_sure_conditions(func)}
    for name in filter(None, (func.attrs or {}).get("npu.tensorize", {}).values()):
        intrinsic = TensorIntrin.get(str(name))
        functions[f"{name}{_DESCRIPTION}"] = intrinsic.desc
        functions[f"{name}{_IMPLEMENTATION}"] = intrinsic.impl
    return str(tvm.ir.save_json(IRModule(functions)))


@lru_cache(maxsize=64)  # TVM looks through the whole function when a schedule begins
def _unscheduled(text: str) -> Schedule:
    functions = {var.name_hint: func for var, func in tvm.ir.load_json(text).functions.items()}
    for name, description in functions.items():
        intrinsic = name.removesuffix(_DESCRIPTION)
        if intrinsic != name and TensorIntrin.get(intrinsic, allow_missing=True) is None:
            implementation = functions[f"{intrinsic}{_IMPLEMENTATION}"]
            TensorIntrin.register(intrinsic, description, implementation)
    return Schedule(functions[_MAIN])
