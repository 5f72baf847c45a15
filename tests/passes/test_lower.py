"""Lowering: a scheduled function before, the loops that the code generator walks after."""

from __future__ import annotations

import tvm_ffi
from kernel_runs import kernel_schedule
from tvm import tirx
from tvm.script import tirx as T

from npu_target import topi
from npu_target.device import preset
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.passes.lower import allocated_buffers, lower
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

requantize = NUMBERS.rule.expression

CONFIG = preset("gemmini-8x8")
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
CONV = topi.Conv2d(1, 5, 9, 20, 9, 3, 3, (2, 1), (1, 1, 0, 0), True, True, 0.25)
# Two tiles of one output block each.
TILES = {"blocks": [2, 1], "lines": [1, 2], "steps": [1, 1], "depth": [1, 3]}
# What TVM notes where it places a buffer.
ALLOCATED = {"buffer_allocated_addr": [], "buffer_data_alignment": 64}


# Padding is a condition where a tile is loaded, boundaries one where it is stored; the array's
# step is a call with the first elements of its operands.
@T.prim_func(s_tir=True)
def lowered_conv(
    x: T.Buffer((1, 5, 9, 20), "int8"),
    weight: T.Buffer((3, 3, 20, 9), "int8"),
    bias: T.Buffer((9,), "int32"),
    out: T.Buffer((1, 2, 8, 9), "int8"),
):
    for t in range(2):
        a = T.alloc_buffer(
            (1, 3, 5, 10, 8), "int8", scope="global.scratchpad", annotations=ALLOCATED
        )
        b = T.alloc_buffer(
            (3, 3, 3, 1, 8, 8), "int8", scope="global.scratchpad", annotations=ALLOCATED
        )
        acc = T.alloc_buffer(
            (1, 1, 2, 8, 8), "int32", scope="global.accumulator", annotations=ALLOCATED
        )
        for cb, h, w, c in T.grid(3, 5, 10, 8):
            a[0, cb, h, w, c] = T.if_then_else(
                1 <= h and 1 <= w and cb * 8 + c < 20,  # noqa: SIM300
                x[0, h - 1, w - 1, cb * 8 + c],
                T.int8(0),
            )
        for i, j, cb, c, o in T.grid(3, 3, 3, 8, 8):
            b[i, j, cb, 0, c, o] = T.if_then_else(
                cb * 8 + c < 20 and t * 8 + o < 9,
                weight[i, j, cb * 8 + c, t * 8 + o],
                T.int8(0),
            )
        for y, xx, o in T.grid(2, 8, 8):
            acc[0, 0, y, xx, o] = T.if_then_else(t * 8 + o < 9, bias[t * 8 + o], 0)
        for i, j, cb, y in T.grid(3, 3, 3, 2):
            T.evaluate(
                T.call_extern(
                    "int32",
                    "npu.gemm",
                    T.address_of(a[0, cb, y * 2 + i, j, 0]),
                    T.address_of(b[i, j, cb, 0, 0, 0]),
                    T.address_of(acc[0, 0, y, 0, 0]),
                    8,
                    1,
                )
            )
        for y, xx, o in T.grid(2, 8, 8):
            if t * 8 + o < 9:
                out[0, y, xx, t * 8 + o] = requantize(acc[0, 0, y, xx, o], 0.25, True)


def scheduled(structure: MacStructure) -> tirx.PrimFunc:
    schedule = kernel_schedule(CONV, CONFIG, seed=1)
    schedule_mac(schedule, structure, TILES)
    return schedule.mod["main"]


def test_a_small_convolution():
    found = lower(scheduled(MacStructure(pipelined=False)), CONFIG)
    assert found.versions == {}
    mismatch = tvm_ffi.get_first_structural_mismatch(
        found.func.body, lowered_conv.body, map_free_vars=True
    )
    assert mismatch is None, f"{mismatch} in\n{found.func.script()}"


def test_pipelined_tiles_have_versions():
    found = lower(scheduled(MacStructure(pipelined=True)), CONFIG)
    buffers = {buffer.name: buffer for buffer in allocated_buffers(found.func)}
    assert set(found.versions.values()) == {2}
    shapes = {name: tuple(int(n) for n in buffer.shape) for name, buffer in buffers.items()}
    for name in found.versions:
        assert buffers[name].scope() == SCRATCHPAD
        assert shapes[name][0] == 2
    (sums,) = (name for name in buffers if buffers[name].scope() == ACCUMULATOR)
    assert sums not in found.versions
    assert shapes[sums] == (1, 1, 2, 8, 8)


def test_the_function_given_stays_as_it_is():
    func = scheduled(MacStructure())
    before = func.script()
    lower(func, CONFIG)
    assert func.script() == before
