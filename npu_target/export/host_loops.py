"""Host functions as plain loops over flat arrays: what is left to say is C."""

from __future__ import annotations

import tvm
from tvm import s_tir, tirx
from tvm.ir import IRModule

from .byte_tables import with_byte_tables

_REDUCTION = tirx.IterVar.CommReduce


def plain_loops(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """A function of TVM's legalization, as it came from there, in loops, conditions, loads and
    stores alone.

    Values that one element alone needs are computed where they are needed, without an array for
    them; no sum is added in another order. What a byte alone decides is looked up where that saves
    calls of the C library.
    """
    schedule = s_tir.Schedule(func)
    _inline(schedule)
    _begin_sums(schedule)
    mod = schedule.mod
    (var,) = mod.get_global_vars()
    with tvm.target.Target({"kind": "c"}):
        mod = _LOWER(IRModule({var: mod[var].with_attr("global_symbol", var.name_hint)}))
    return with_byte_tables(mod[var])


def _inline(schedule: s_tir.Schedule) -> None:
    """Each block without a reduction into what reads it, where one block does."""
    is_left = True
    while is_left:
        is_left = any(_is_inlined(schedule, block) for block in _blocks(schedule))


def _is_inlined(schedule: s_tir.Schedule, block: s_tir.schedule.SBlockRV) -> bool:
    if len(schedule.get_consumers(block)) != 1:
        return False
    try:
        schedule.compute_inline(block)
    except s_tir.ScheduleError:  # a reduction, or read at other places than it is written
        return False
    return True


def _begin_sums(schedule: s_tir.Schedule) -> None:
    """What a reduction begins with is stored before it, not in its first iteration."""
    for block in _blocks(schedule):
        kinds = [axis.iter_type for axis in schedule.get(block).iter_vars]
        loops = schedule.get_loops(block)
        if _REDUCTION in kinds and len(kinds) == len(loops):
            schedule.decompose_reduction(block, loops[kinds.index(_REDUCTION)])


def _blocks(schedule: s_tir.Schedule) -> list[s_tir.schedule.SBlockRV]:
    return list(schedule.get_child_blocks(schedule.get_sblock("root")))


_LOWER = tvm.transform.Sequential(
    [
        s_tir.transform.CanonicalizeLoop(),
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.CompactBufferAllocation(),
        s_tir.transform.LowerMatchBuffer(),
        tirx.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
        tirx.transform.NarrowDataType(32),
        s_tir.transform.HoistIfThenElse(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
    ]
)
