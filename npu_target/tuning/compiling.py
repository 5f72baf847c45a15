"""From a trace to a program and what is known of it before it runs. In a builder process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from ..codegen_tir import CodegenError, DoesNotFit, build_program
from ..config import NpuConfig
from ..passes.conditions import without_sure_conditions
from ..topi import Operator
from .failure import BUILD_ERROR, DOES_NOT_APPLY, DOES_NOT_FIT, Failure, last_line
from .features import features_of
from .program_work import ProgramWork
from .workload import workload_module

_DIGEST_DIGITS = 16


@dataclass(frozen=True)
class CompileJob:
    """A schedule of the workload of `operator`: its trace in MetaSchedule's JSON form."""

    operator: Operator
    config: NpuConfig
    trace: Any


@dataclass(frozen=True)
class Compiled:
    """A program file; equal digests are equal programs. It takes `least_cycles` at least;
    `features` is what the cost model sees of it."""

    program: bytes
    digest: str
    least_cycles: int
    features: np.ndarray


def compile_trace(job: CompileJob) -> Compiled | Failure:
    """Compile, or say why that cannot be: does_not_apply, does_not_fit or build_error."""
    schedule = _unscheduled(job.operator, job.config).copy()
    try:
        Trace.apply_json_to_schedule(job.trace, schedule)
    except (RuntimeError, ValueError, TypeError) as error:
        return Failure(DOES_NOT_APPLY, last_line(error))
    try:
        program = build_program(schedule.mod["main"], job.config, job.operator.name)
    except DoesNotFit as error:
        return Failure(DOES_NOT_FIT, str(error))
    except CodegenError as error:
        return Failure(BUILD_ERROR, str(error))
    work = ProgramWork.of(program, job.operator)
    data = program.to_bytes()
    digest = hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]
    return Compiled(data, digest, work.least_cycles, features_of(job.operator, work))


@lru_cache(maxsize=64)  # TVM looks through the whole function when a schedule begins
def _unscheduled(operator: Operator, config: NpuConfig) -> Schedule:
    return Schedule(without_sure_conditions(workload_module(operator, config)["main"]))
