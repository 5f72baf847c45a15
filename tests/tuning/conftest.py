"""Tiny workloads and records of theirs, for tests that need no device."""

from __future__ import annotations

import pytest
from tvm import s_tir
from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.script import tirx as T
from tvm.target import Target

from npu_target.config import NpuConfig
from npu_target.isa import ConfigLd, ConfigSt, LocalAddress, Mvin, Mvout
from npu_target.program import Arg, Command, Loop, Operand, Program, const, device_command
from npu_target.topi import Add


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


@pytest.fixture
def add_program():
    return _add_program


def _add_program(
    operator: Add, config: NpuConfig, swap: bool = False, repeat: int = 1, skip_rows: int = 0
) -> Program:
    """A residual add of one tile, written by hand: two scaled loads into the accumulator and a
    store. `swap` confuses the scales, `skip_rows` leaves the last rows of the output unwritten,
    `repeat` runs it all that often."""
    scales = [operator.scale_a, operator.scale_b]
    first, second = scales[::-1] if swap else scales
    stride = operator.cols
    store_scale = {"scale": operator.scale_out}
    size = {"cols": operator.cols, "rows": operator.rows}

    def load(argument: int, scale: float, accumulate: bool) -> list[Command]:
        return [
            device_command(ConfigLd, stride_bytes=stride, block_stride=0, scale=scale, shrunk=True),
            device_command(
                Mvin,
                dram_address=Operand.argument(argument),
                local=LocalAddress.acc(0, accumulate=accumulate),
                **size,
            ),
        ]

    body = [
        *load(0, first, False),
        *load(1, second, True),
        device_command(ConfigSt, stride_bytes=stride, **store_scale),
        device_command(
            Mvout,
            dram_address=Operand.argument(2),
            local=LocalAddress.acc(0),
            cols=operator.cols,
            rows=operator.rows - skip_rows,
        ),
    ]
    args = tuple(Arg(a.name, a.role, a.dtype, a.shape) for a in operator.args)
    return Program(operator.name, config, args, (Loop(0, const(repeat), tuple(body)),))
