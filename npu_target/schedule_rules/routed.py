"""Designs without a schedule: a definition that one of the device's routes computes."""

from __future__ import annotations

from tvm.s_tir import Schedule

from ..device import DeviceConfig
from ..topi import Operator
from ..topi.routed import routes_of, take_route


def routed_designs(sch: Schedule, operator: Operator, config: DeviceConfig) -> list[Schedule]:
    """One for each route that serves the operator, made of a schedule of its definition, which
    stays as it is."""
    made = []
    for name in routes_of(operator, config):
        made.append(sch.copy())
        take_route(made[-1], name)
    return made
