"""Which records count: those of schedules, those of the device's routes, or both."""

from __future__ import annotations

from typing import Any

from ..device.route import ROUTE

BESIDE = "beside"
NONE = "none"
ONLY = "only"
ROUTES = (BESIDE, NONE, ONLY)


def route_in_trace(trace: Any) -> str | None:
    """The route that a trace in JSON form takes, None for a schedule's."""
    instructions, _ = trace
    for kind, inputs, attributes, _ in instructions:
        if kind == "Annotate" and attributes == [ROUTE]:
            return str(inputs[1]).strip('"')  # as TVM writes strings into traces
    return None


def counts(trace: Any, routes: str) -> bool:
    """Whether a trace is to be looked at where `routes` of ROUTES is asked for."""
    if routes == BESIDE:
        return True
    return (route_in_trace(trace) is None) == (routes == NONE)
