"""TVM's own way in: what `meta_schedule.tune_tir` and `tune_relax` take for the device.

with measured_on(device) as (builder, runner):
    database = ms.tune_tir(
        workload_module(operator, device), make_target(device), work_dir=..., builder=builder,
        runner=runner, space=workload_space(device), max_trials_global=...,
    )
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.tirx import PrimFunc

from rpc_server.address import Address
from rpc_server.credentials import NONE as NO_CREDENTIALS
from rpc_server.credentials import Credentials

from ..device import DeviceConfig
from ..partition import Partitioned, partition
from ..schedule_rules import default_schedule, space_generator
from ..schedule_rules.mutators import MoveTileFactor
from ..schedule_rules.rules import TileDescribedSteps
from ..scratch import scratch_folder
from ..target import make_target
from ..topi import Operator
from ..topi.definition import definition, operator_in
from .builder import NpuBuilder
from .devices import check_runner, device_pool
from .fits_device import FitsDevice
from .runner import NpuRunner
from .workload import operator_of

# TVM's mark for a function that must not be fused with others.
_OPAQUE = 8
# And for one that has its schedule.
_SCHEDULED = "tirx.is_scheduled"


@contextmanager
def measured_on(
    config: DeviceConfig,
    tracker: Address | None = None,
    servers: int | None = None,
    seed: int = 0,
    timeout_seconds: float = 30.0,
    runner: str = "",
    credentials: Credentials = NO_CREDENTIALS,
) -> Iterator[tuple[NpuBuilder, NpuRunner]]:
    """A builder and a runner on simulated devices: a tracker's, or some of its own on loopback
    while it runs, `servers` of them (None: all, or one per processor). With a `runner`, on those of
    the tracker's by which it measures.

    Inputs are drawn from `seed`; a candidate that takes longer than so many seconds fails.
    """
    console = Console(quiet=True)
    with scratch_folder("tuning") as folder:
        output = folder / "run.log"
        check_runner(runner, tracker)
        with device_pool(
            config, tracker, servers, output, console, runner, timeout_seconds, credentials
        ) as pool:
            yield NpuBuilder(config, folder), NpuRunner(pool, seed, timeout_seconds)


def workload_space(
    config: DeviceConfig, space: str = "both", seed: int = 1
) -> ms.space_generator.SpaceGenerator:
    """The design spaces of all workloads that say which operator they are (`workload_module`,
    `tunable_network`): one for the tasks of a whole network.

    Candidates whose tiles have no room in the device are rejected before they are built. Raises
    ValueError for an unknown space.
    """

    return space_generator(
        operator_of, config, space, seed, [FitsDevice(config, space)], routes=True
    )


def function_space(config: DeviceConfig, seed: int = 1) -> ms.space_generator.SpaceGenerator:
    """The design space of functions of anyone (`function_workload`): what the rules make of blocks
    that the device's step computes, by the description of its intrinsic."""
    return ms.space_generator.PostOrderApply(
        sch_rules=[TileDescribedSteps(config)],
        postprocs=[],
        mutator_probs={MoveTileFactor(seed): 0.6, ms.mutator.MutateTileSize(): 0.4},
    )


def tunable_network(mod: IRModule, config: DeviceConfig) -> Partitioned:
    """An integer Relax module partitioned for a device, with kernels that tuning can schedule.

    Tasks of other functions are the host's: give `tune_relax` the kernels' names, `op_names`.
    """
    return partition(mod, config, _tunable_kernel)


def with_defaults(mod: IRModule, config: DeviceConfig) -> IRModule:
    """A module in which kernels that `MetaScheduleApplyDatabase` found no record of have their
    default schedules: what `npu_target.build.compile_network` compiles."""
    functions = {
        var: _with_default(func, config) if isinstance(func, PrimFunc) else func
        for var, func in mod.functions.items()
    }
    return IRModule(functions, attrs=mod.attrs)


def _with_default(func: PrimFunc, config: DeviceConfig) -> PrimFunc:
    is_scheduled = func.attrs is not None and func.attrs.get(_SCHEDULED, False)
    operator = None if is_scheduled else operator_in(func)
    if operator is None:
        return func
    scheduled = default_schedule(operator, config, func.with_attr("global_symbol", "main"))
    symbol = {"global_symbol": func.attrs["global_symbol"], _SCHEDULED: True}
    return scheduled.mod["main"].with_attr(symbol)


def _tunable_kernel(operator: Operator, config: DeviceConfig) -> PrimFunc:
    func = definition(operator.kernel(), config)
    return func.with_attr({"target": make_target(config), "op_pattern": _OPAQUE})
