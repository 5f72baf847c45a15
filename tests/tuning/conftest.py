"""Tiny workloads and records of theirs, for tests that need no device."""

from __future__ import annotations

import pytest
from tvm import s_tir
from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.script import tirx as T
from tvm.target import Target


@T.prim_func(s_tir=True)
def increment(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("compute"):
            vi = T.axis.spatial(64, i)
            b[vi] = a[vi] + T.float32(1)


@T.prim_func(s_tir=True)
def double(a: T.Buffer((32,), "float32"), b: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.sblock("compute"):
            vi = T.axis.spatial(32, i)
            b[vi] = a[vi] * T.float32(2)


@pytest.fixture
def workloads() -> list[IRModule]:
    return [IRModule({"main": increment}), IRModule({"main": double})]


@pytest.fixture
def make_record():
    return _make_record


def _make_record(mod: IRModule, inner: int, seconds: float) -> ms.database.TuningRecord:
    """A record whose trace splits the loop by `inner`."""
    schedule = s_tir.Schedule(mod)
    (loop,) = schedule.get_loops(schedule.get_sblock("compute"))
    extent = int(mod["main"].params[0].shape[0])
    factors = schedule.sample_perfect_tile(loop, 2, decision=[extent // inner, inner])
    schedule.split(loop, factors)
    arguments = ms.arg_info.ArgInfo.from_prim_func(mod["main"])
    workload = ms.database.Workload(mod)
    return ms.database.TuningRecord(
        schedule.trace, workload, [seconds], Target("ext_dev"), arguments
    )
