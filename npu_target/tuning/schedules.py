"""The schedule of an operator: the best that the logs have, or the default one."""

from __future__ import annotations

from tvm.s_tir import Schedule

from ..device import DeviceConfig
from ..schedule_rules import default_schedule
from ..topi import Operator
from ..topi.definition import definition
from ..topi.routed import take_route
from .errors import LogError
from .failure import last_line
from .log import TuningLog
from .workload import workload_module


def default_of(operator: Operator, config: DeviceConfig) -> Schedule:
    """The default schedule of what tuning calls the operator's workload."""
    func = workload_module(operator, config)["main"]
    return default_schedule(operator.canonical(), config, func)


def routed_schedule(operator: Operator, config: DeviceConfig, route: str) -> Schedule:
    """The operator, with its own scales and activation, computed by a route of the device's."""
    schedule = Schedule(definition(operator, config))
    take_route(schedule, route)
    return schedule


def tuned_schedule(operator: Operator, config: DeviceConfig, log: TuningLog) -> Schedule | None:
    """The fastest schedule that the logs have for `operator`, applied to its kernel with its own
    scales and activation; None where they have none.

    Raises LogError where it cannot be applied.
    """
    record = log.best(workload_module(operator, config))
    if record is None:
        return None
    schedule = Schedule(definition(operator.kernel(), config))
    try:
        record.trace.apply_to_schedule(schedule, remove_postproc=False)
    except (RuntimeError, ValueError, TypeError) as error:
        raise LogError(
            f"{log.folder}: the best schedule of {operator.canonical().name} does not apply to it "
            f"({last_line(error)}); drop what does not with: "
            f"npu-target logs remeasure {log.folder}"
        ) from error
    return schedule
