"""Relax modules compiled for the host by LLVM, with reductions scheduled so that it is quick.

TVM's default CPU pipeline leaves a convolution as the plain loop nest of its definition, with
the reduction innermost. One schedule that fits every such nest (outputs innermost and
vectorized, the rest in parallel) is some fifteen times as fast and adds in the same order, so
its results are the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import tvm
from tvm import relax, s_tir, tirx
from tvm.ir import IRModule
from tvm.relax.backend.cpu_generic import pipeline as cpu_generic
from tvm.s_tir.dlight import analysis as dlight

# Lanes of the vectorized loop; LLVM splits them over the vector registers that there are.
_MOST_LANES = 16
# Outputs that one loaded vector serves; their sums stay in registers.
_MOST_SHARING = 4
# Below this many innermost steps, waking the other threads costs more than they save.
_LEAST_PARALLEL_STEPS = 1 << 16
_INVALID_CODE = "LLVM module verification failed"
_LEVEL_BELOW = 2


def build_host(mod: IRModule, target: str | tvm.target.Target = "llvm") -> tvm.runtime.Executable:
    """``mod`` compiled for the Relax virtual machine on the host."""
    return build_with_host(mod, tvm.target.Target(target), "default")


def build_with_host(
    mod: IRModule, target: tvm.target.Target, tir_pipeline: str
) -> tvm.runtime.Executable:
    """``mod`` compiled for the Relax virtual machine; ``tir_pipeline`` lowers its functions."""
    options = {"relax_pipeline": host_pipeline(target), "tir_pipeline": tir_pipeline}
    try:
        return relax.build(mod, target, **options)
    except tvm.error.InternalError as error:
        # At its highest level LLVM makes invalid code of a few unrolled sums, and finds that out.
        if _INVALID_CODE not in str(error):
            raise
    target = tvm.target.Target({**target.export(), "opt-level": _LEVEL_BELOW})
    return relax.build(mod, target, **options)


def run_host(executable: tvm.runtime.Executable, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of function ``main`` for ``inputs``, as a list even for a single one."""
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(value) for value in inputs])
    fields = [result] if isinstance(result, tvm.runtime.Tensor) else list(result)
    return [field.numpy() for field in fields]


def host_pipeline(target: tvm.target.Target) -> tvm.transform.Pass:
    """TVM's generic CPU pipeline with :func:`schedule_reductions` in it."""

    @tvm.transform.module_pass(opt_level=0, name="HostPipeline")
    def pipeline(mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        with target:
            return tvm.transform.Sequential(
                [
                    *cpu_generic.library_dispatch_passes(target),
                    *cpu_generic.legalize_passes(target),
                    schedule_reductions(),
                    *cpu_generic.dataflow_lower_passes(target),
                    *cpu_generic.finalize_passes(target),
                ]
            )(mod)

    return pipeline


def schedule_reductions() -> tvm.transform.Pass:
    """A pass over the module's PrimFuncs that are to run on the host."""

    @tvm.transform.module_pass(opt_level=0, name="ScheduleReductions")
    def schedule(mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        scheduled = {
            var: _schedule_function(function)
            for var, function in mod.functions.items()
            if isinstance(function, tirx.PrimFunc) and _is_for_host(function)
        }
        for var, function in scheduled.items():
            mod.update_func(var, function)
        return mod

    return schedule


def _is_for_host(function: tirx.PrimFunc) -> bool:
    """Whether nobody has scheduled the function or given it to another target."""
    attrs = function.attrs or {}
    return not attrs.get("tirx.is_scheduled") and "target" not in attrs and "s_tir" in attrs


def _schedule_function(function: tirx.PrimFunc) -> tirx.PrimFunc:
    schedule = s_tir.Schedule(function)
    blocks = dlight.normalize_prim_func(schedule)
    if blocks is None:  # loops that are not one per axis: leave the function as it is
        return function
    for block in blocks:
        spatial = [axis for axis in block.iters if axis.kind == "S"]
        reduction = [axis for axis in block.iters if axis.kind == "R"]
        static = all(isinstance(axis.dom, int) for axis in block.iters)
        if not static or len(spatial) + len(reduction) != len(block.iters):
            continue
        if not all(axis.dom for axis in block.iters):  # TVM cannot fuse loops of no iterations
            continue
        if not reduction and spatial:
            _schedule_elementwise(schedule, spatial)
        elif len(spatial) > 1:
            _schedule_reduction(schedule, block.block_rv, spatial, reduction)
    return schedule.mod["main"]


def _schedule_elementwise(schedule: s_tir.Schedule, spatial: Sequence[dlight.IterInfo]) -> None:
    """One loop over all elements. Nests of short loops LLVM unrolls to megabytes of code."""
    steps = math.prod(axis.dom for axis in spatial)
    lanes = math.gcd(steps, _MOST_LANES)
    fused = schedule.fuse(*(axis.loop_rv for axis in spatial))
    rows, vector = schedule.split(fused, [None, lanes])
    if steps >= _LEAST_PARALLEL_STEPS:
        schedule.parallel(rows)
    schedule.vectorize(vector)


def _schedule_reduction(
    schedule: s_tir.Schedule,
    block: s_tir.schedule.SBlockRV,
    spatial: Sequence[dlight.IterInfo],
    reduction: Sequence[dlight.IterInfo],
) -> None:
    """The last output axis innermost and vectorized, the other output axes in parallel."""
    *outer, inner = (axis.loop_rv for axis in spatial)
    reduction_loops = [axis.loop_rv for axis in reduction]
    # Several outputs of the axis before share what is loaded for the last one.
    sharing = math.gcd(spatial[-2].dom, _MOST_SHARING)
    outer[-1], shared = schedule.split(outer[-1], [None, sharing])
    rows = schedule.fuse(*outer)
    lanes = math.gcd(spatial[-1].dom, _MOST_LANES)
    tiles, vector = schedule.split(inner, [None, lanes])
    schedule.reorder(rows, tiles, *reduction_loops, shared, vector)
    schedule.unroll(shared)
    if math.prod(axis.dom for axis in (*spatial, *reduction)) >= _LEAST_PARALLEL_STEPS:
        schedule.parallel(rows)
    schedule.vectorize(vector)
    schedule.decompose_reduction(block, reduction_loops[0])
