"""A post-processor for TVM's searches: candidates without room in the device need no building."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from ..device import DeviceConfig
from ..schedule_rules.traces import trace_json
from ..topi import Operator
from .points import PointSpace
from .search import point_space
from .workload import operator_of

_SEED = 1  # nothing is drawn


@derived_object
class FitsDevice(ms.postproc.PyPostproc):
    """Accepts candidates whose tiles have room, told from their sizes alone; `space` is that of the
    candidates."""

    def __init__(self, config: DeviceConfig, space: str) -> None:
        super().__init__()
        self._config = config
        self._space = space
        self._points: PointSpace | None = None

    def _initialize_with_tune_context(self, context: Any) -> None:
        operator = operator_of(context.mod).canonical()
        self._points = _points_of(operator, self._config, self._space)

    def apply(self, sch: Schedule) -> bool:
        assert self._points is not None
        point = self._points.find(trace_json(sch.trace))
        return point is None or self._points.fits(point)

    def clone(self) -> FitsDevice:
        """For another search thread."""
        other = FitsDevice(self._config, self._space)
        other._points = self._points
        return other


@lru_cache(maxsize=64)
def _points_of(operator: Operator, config: DeviceConfig, space: str) -> PointSpace:
    return point_space(operator, config, space, _SEED, Random(_SEED))
