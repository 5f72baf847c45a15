"""Schedules of pooling, which the store unit does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.s_tir import Schedule

from .mac_schedule import annotate_pipeline

# The memory of the device's sums.
_ACCUMULATOR = "global.accumulator"


def schedule_pool(
    sch: Schedule, pipelined: bool, decisions: Mapping[str, list[int]] | None = None
) -> None:
    """Schedule a pooling ``store`` block, which reads windows of the tile in the accumulator."""
    store, load = sch.get_sblock("store"), sch.get_sblock("load_a")
    *spatial, lane = sch.get_loops(store)
    outer, inner = _tiles(sch, spatial, decisions or {})
    sch.reorder(*outer, *inner, lane)
    sch.set_scope(load, 0, _ACCUMULATOR)
    sch.compute_at(load, outer[-1])
    if pipelined:
        annotate_pipeline(sch, outer[-1], [0, 1])


def _tiles(
    sch: Schedule, loops: list[Any], decisions: Mapping[str, list[int]]
) -> tuple[list[Any], list[Any]]:
    outer, inner = [], []
    for loop in loops:
        name = str(sch.get(loop).loop_var.name)
        factors = sch.sample_perfect_tile(
            loop, n=2, max_innermost_factor=1 << 16, decision=decisions.get(name)
        )
        pair = sch.split(loop, factors)
        outer.append(pair[0])
        inner.append(pair[1])
    return outer, inner
