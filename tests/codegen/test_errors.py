"""Functions that cannot be compiled: the message names the kernel, the place and the reason."""

from __future__ import annotations

import pytest
from kernel_runs import kernel_schedule
from tvm import tirx
from tvm.script import tirx as T

from npu_target import topi
from npu_target.codegen_tir import CodegenError, DoesNotFit, build_program
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.schedule_rules import default_schedule
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

requantize = NUMBERS.rule.expression

CONFIG = GemminiConfig()
D = CONFIG.dim
SPAD, ACC = "global.scratchpad", "global.accumulator"


@T.prim_func(s_tir=True)
def arithmetic_in_dram(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    for r, c in T.grid(8, D):
        y[r, c] = x[r, c] + T.int8(1)


@T.prim_func(s_tir=True)
def temporary_in_dram(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8")
    for r, c in T.grid(8, D):
        t[r, c] = x[r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def shared_memory(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope="shared")
    for r, c in T.grid(8, D):
        t[r, c] = x[r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def tiles_of_one_name(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    for _ in range(2):
        t = T.alloc_buffer((8, D), "int8", scope=SPAD)
        for r, c in T.grid(8, D):
            t[r, c] = x[r, c]
        for r, c in T.grid(8, D):
            y[r, c] = t[r, c]
    for _ in range(2):
        t = T.alloc_buffer((8, D), "int8", scope=SPAD)
        for r, c in T.grid(8, D):
            t[r, c] = x[r, c]
        for r, c in T.grid(8, D):
            y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def transposing_load(x: T.Buffer((D, D), "int8"), y: T.Buffer((D, D), "int8")):
    t = T.alloc_buffer((D, D), "int8", scope=SPAD)
    for r, c in T.grid(D, D):
        t[r, c] = x[c, r]
    for r, c in T.grid(D, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def reversing_load(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = x[7 - r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def unknown_call(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    T.evaluate(T.call_extern("int32", "memset", 0))


@T.prim_func(s_tir=True)
def step_inside_a_row(x: T.Buffer((D, D), "int8"), y: T.Buffer((D, D), "int32")):
    a = T.alloc_buffer((D, D), "int8", scope=SPAD)
    acc = T.alloc_buffer((D, D), "int32", scope=ACC)
    for r, c in T.grid(D, D):
        a[r, c] = x[r, c]
    for r, c in T.grid(D, D):
        acc[r, c] = 0
    for i in range(2):
        T.evaluate(
            T.call_extern(
                "int32",
                "npu.gemm",
                T.address_of(a[0, i]),
                T.address_of(a[0, 0]),
                T.address_of(acc[0, 0]),
                D,
                1,
            )
        )
    for r, c in T.grid(D, D):
        y[r, c] = acc[r, c]


@T.prim_func(s_tir=True)
def condition_of_two_cases(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(r < 2 or r > 5, x[r, c], T.int8(0))
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def condition_with_another_case(x: T.Buffer((64, D), "int8"), y: T.Buffer((64, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for i in range(8):
        for r, c in T.grid(8, D):
            t[r, c] = x[i * 8 + r, c]
        if i < 5:
            for r, c in T.grid(8, D):
                y[i * 8 + r, c] = t[r, c]
        else:
            for r, c in T.grid(8, D):
                y[i * 8 + r, c] = t[7, c]


@T.prim_func(s_tir=True)
def scalar_argument(x: T.Buffer((8, D), "int8"), n: T.int32, y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = x[r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def symbolic_shape(x_handle: T.handle, y: T.Buffer((8, D), "int8")):
    n = T.int32()
    x = T.match_buffer(x_handle, (n, D), "int8")
    t = T.alloc_buffer((8, D), "int8", scope=SPAD)
    for r, c in T.grid(8, D):
        t[r, c] = x[r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (arithmetic_in_dram, r"no command computes `y.* = x.* \+ .*`: .* not read from a tile"),
        (temporary_in_dram, "buffer t has scope 'global', needs 'global.scratchpad' or"),
        (shared_memory, "buffer t has scope 'shared', needs 'global.scratchpad' or"),
        (tiles_of_one_name, "two tiles are called t: give each a name of its own"),
        (
            transposing_load,
            r"no command computes `t.* = x.*`: a copy must move whole rows of 16 neighbouring "
            "elements: along the columns of the tile, loop `c`, they lie 16 apart in DRAM",
        ),
        (
            reversing_load,
            r"no command computes `t.* = x.*`: loop `r` walks the rows of DRAM backwards, 16 elem",
        ),
        (unknown_call, "no command performs `.*memset"),
        (step_inside_a_row, r"`T.call_extern\(.*npu.gemm.*\)`: .* is not the start of a row"),
        (condition_of_two_cases, r"condition .* \(Or\) is not supported"),
        (condition_with_another_case, "`if i < 5` has an `else`, .*: write a condition of its own"),
        (scalar_argument, "argument n is no tensor"),
        (symbolic_shape, "extent n is not a constant"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_unsupported_functions(func, text):
    with pytest.raises(CodegenError, match=text) as error:
        build_program(func, CONFIG, "my_kernel")
    assert str(error.value).startswith("my_kernel: ")


def test_an_unscheduled_definition_has_temporaries_in_dram():
    func = topi.Matmul(1, 4, 4, 4).prim_func(CONFIG)
    with pytest.raises(CodegenError, match=r"kernels keep no temporaries in DRAM"):
        build_program(func, CONFIG, "my_kernel")


def test_a_kernel_of_another_device_is_refused():
    func = default_schedule(topi.Matmul(1, 4, 4, 4), CONFIG).mod["main"]
    with pytest.raises(CodegenError, match=r"rows of 16 elements, the .* of gemmini-8x8 has 8"):
        build_program(func, preset("gemmini-8x8"), "my_kernel")


def test_tiles_that_exceed_a_memory():
    schedule = kernel_schedule(topi.Matmul(1, 1024, 512, 16), CONFIG, seed=1)
    tiles = {"blocks": [1, 1], "steps": [1, 64]}
    schedule_mac(schedule, MacStructure(pipelined=False), tiles)
    with pytest.raises(DoesNotFit) as error:
        build_program(schedule.mod["main"], CONFIG, "my_kernel")
    text = str(error.value)
    assert text.startswith("my_kernel: tiles need 33280 rows of the scratchpad (")
    assert text.endswith("gemmini-16x16 has 16384; use smaller tiles or single buffering")


@T.prim_func(s_tir=True)
def raw_sums(x: T.Buffer((8, D), "int32"), y: T.Buffer((8, D), "int32")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = x[r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def scaled_sums(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int32", scope=ACC)
    for r, c in T.grid(8, D):
        t[r, c] = T.cast(requantize(x[r, c], 0.5), "int32")
    for r, c in T.grid(8, D):
        y[r, c] = requantize(t[r, c], 1.0)


def default_of(operator: topi.Operator) -> tirx.PrimFunc:
    return default_schedule(operator, CONFIG).mod["main"]


@pytest.mark.parametrize(
    ("feature", "func"),
    [
        ("has_acc_full_width_store", lambda: raw_sums),
        ("has_mvin_scale", lambda: scaled_sums),
        ("has_pooling", lambda: default_of(topi.MaxPool2d(1, 6, 6, 3, 2, 2))),
        ("has_weight_stationary", lambda: default_of(topi.Matmul(1, 4, 4, 4))),
    ],
)
def test_features_that_the_device_was_built_without(feature, func):
    build_program(func(), CONFIG, "my_kernel")
    without = CONFIG.replace(name="plain", **{feature: False})
    with pytest.raises(CodegenError, match=f"my_kernel: .* needs {feature}, plain has it off"):
        build_program(func(), without, "my_kernel")
