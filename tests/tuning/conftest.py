"""Tiny workloads and records of theirs, for tests that need no device."""

from __future__ import annotations

import pytest
from tvm import s_tir
from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.script import tirx as T
from tvm.target import Target

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import (
    GARBAGE,
    ComputePreloaded,
    ConfigEx,
    ConfigLd,
    ConfigSt,
    LocalAddress,
    Mvin,
    Mvout,
    Preload,
)
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
    operator: Add, config: GemminiConfig, swap: bool = False, repeat: int = 1, skip_rows: int = 0
) -> Program:
    """A residual add of one tile, written by hand: each operand times its multiplier, and a store.
    `swap` confuses the multipliers, `skip_rows` leaves the last rows of the output unwritten,
    `repeat` runs it all that often."""
    dim, rows, cols = operator.dim, operator.rows, operator.cols
    a, b, weights, out = (Operand.argument(index) for index in range(4))
    weights_row, b_row = config.spad_bank_rows, config.dim

    def load(source: Operand, row: int, stride: int, cols: int, rows: int) -> list[Command]:
        local = LocalAddress(row)
        return [
            device_command(ConfigLd, stride_bytes=stride, block_stride=0),
            device_command(Mvin, dram_address=source, local=local, cols=cols, rows=rows),
        ]

    def product(a_row: int, weight: int, accumulate: bool) -> list[Command]:
        sums = LocalAddress.acc(0, accumulate=accumulate)
        bd = {"bd": LocalAddress(weights_row + weight * dim), "bd_cols": dim, "bd_rows": dim}
        garbage = {"bd": GARBAGE, "bd_cols": dim, "bd_rows": rows}
        return [
            device_command(Preload, **bd, c=sums, c_cols=dim, c_rows=rows),
            device_command(
                ComputePreloaded, a=LocalAddress(a_row), a_cols=cols, a_rows=rows, **garbage
            ),
        ]

    body = [
        device_command(ConfigEx, weight_stationary=True),
        *load(weights, weights_row, dim, dim, dim),
        *load(weights + dim * dim, weights_row + dim, dim, dim, dim),
        *load(a, 0, cols, cols, rows),
        *load(b, b_row, cols, cols, rows),
        *product(0, 1 if swap else 0, False),
        *product(b_row, 0 if swap else 1, True),
        device_command(ConfigSt, stride_bytes=cols, scale=operator.scale),
        device_command(
            Mvout, dram_address=out, local=LocalAddress.acc(0), cols=cols, rows=rows - skip_rows
        ),
    ]
    args = tuple(Arg(x.name, x.role, x.dtype, x.shape) for x in operator.args)
    return Program(operator.name, config, args, (Loop(0, const(repeat), tuple(body)),))
