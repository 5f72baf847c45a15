"""Definitions that a route of the device's computes (:mod:`npu_target.device.route`).

A route takes the place of a schedule, and is written down as one: a mark on the definition, which
else stays as it is and says what is computed.  So its trace is in logs beside others, and is
replayed on the operator with the scale and the activation of each layer.
"""

from __future__ import annotations

from typing import NamedTuple

from tvm.s_tir import SBlockRealize, Schedule
from tvm.tirx import PrimFunc

from ..device import DeviceConfig, kind_of
from ..device.route import ROUTE, Route
from .definition import OPERATOR, operator_in
from .operator import Operator, OperatorError


class Served(NamedTuple):
    """An operator, and the route that computes it."""

    operator: Operator
    route: Route


def routes_of(operator: Operator, config: DeviceConfig) -> list[str]:
    """The names of a device's routes that serve an operator."""
    routes = kind_of(config).routes(config)
    return [name for name, route in routes.items() if route.refusal(operator) is None]


def unserved(operator: Operator, config: DeviceConfig) -> str | None:
    """Why a device that runs no schedules cannot compute an operator; None where it can."""
    kind = kind_of(config)
    if kind.has_schedules or routes_of(operator, config):
        return None
    refusals = [str(route.refusal(operator)) for route in kind.routes(config).values()]
    return "; ".join(refusals) or f"{config.name} has no routes"


def take_route(sch: Schedule, name: str) -> None:
    """Have a definition computed by the route of this name, in place of a schedule."""
    sch.annotate(sch.get_sblock("root"), ROUTE, name)


def route_name(func: PrimFunc) -> str | None:
    """The name of the route that a function is marked to be computed by."""
    if not isinstance(func.body, SBlockRealize):
        return None
    name = func.body.block.annotations.get(ROUTE)
    return None if name is None else str(name)


def served_by(func: PrimFunc, config: DeviceConfig) -> Served | None:
    """What computes a function that is marked with a route; None for one with a schedule.

    Raises
    ------
    OperatorError
        where the device has no such route, or it does not serve the function's operator.
    """
    name = route_name(func)
    if name is None:
        return None
    operator, route = operator_in(func), kind_of(config).routes(config).get(name)
    if operator is None:
        raise OperatorError(f"route {name} needs a definition that says its operator ({OPERATOR})")
    if route is None:
        known = ", ".join(kind_of(config).routes(config)) or "none"
        raise OperatorError(f"{config.name} has no route {name}; it has: {known}")
    refusal = route.refusal(operator)
    if refusal is not None:
        raise OperatorError(f"route {name} of {config.name} does not serve it: {refusal}")
    return Served(operator, route)
