"""Which conditions of a definition go, and that the others stay."""

from __future__ import annotations

import tvm_ffi
from tvm import ir, tirx
from tvm.script import tirx as T

from npu_target import topi
from npu_target.device import preset
from npu_target.passes.conditions import without_sure_conditions

CONFIG = preset("gemmini-16x16")


@T.prim_func(s_tir=True)
def guarded(x: T.Buffer((40, 20), "int8"), y: T.Buffer((40, 20), "int8")):
    for r, c in T.grid(40, 32):
        with T.sblock("copy"):
            vr, vc = T.axis.remap("SS", [r, c])
            if vr < 40 and vc < 20 and vr + vc >= 0:
                y[vr, vc] = T.if_then_else(vr * 2 - 78 <= 0, x[vr, vc], T.int8(0))


@T.prim_func(s_tir=True)
def unguarded(x: T.Buffer((40, 20), "int8"), y: T.Buffer((40, 20), "int8")):
    for r, c in T.grid(40, 32):
        with T.sblock("copy"):
            vr, vc = T.axis.remap("SS", [r, c])
            T.reads(x[vr, vc])
            T.writes(y[vr, vc])
            if vc < 20:
                y[vr, vc] = x[vr, vc]


@T.prim_func(s_tir=True)
def undecided(x: T.Buffer((40, 20), "int8"), y: T.Buffer((40, 20), "int8")):
    for r, c in T.grid(40, 20):
        with T.sblock("copy"):
            vr, vc = T.axis.remap("SS", [r, c])
            if vr < 39 and vr * vc < 10000 and (vr + 1) % 2 < 2:
                y[vr, vc] = T.if_then_else(vc > 0 or vr > 0, x[vr, vc], T.int8(0))


def test_only_what_always_holds_goes():
    stripped = without_sure_conditions(guarded)
    expected = unguarded.with_attr("global_symbol", "guarded")
    assert tvm_ffi.structural_equal(stripped.body, expected.body, map_free_vars=True)
    assert tvm_ffi.structural_equal(without_sure_conditions(undecided), undecided)


def conditions_in(func: tirx.PrimFunc) -> int:
    found: list[object] = []
    tvm_ffi.structural_walk(
        func.body,
        (
            (tirx.IfThenElse, lambda stmt: found.append(stmt)),
            (
                ir.Call,
                lambda call: found.append(call) if "if_then_else" in str(call.op) else None,
            ),
        ),
    )
    return len(found)


def test_even_blocks_of_channels_need_no_guard():
    even = topi.Matmul(1, 32, 64, 48).prim_func(CONFIG)
    odd = topi.Matmul(1, 32, 70, 50).prim_func(CONFIG)
    assert conditions_in(even) > 0 and conditions_in(without_sure_conditions(even)) == 0
    assert conditions_in(without_sure_conditions(odd)) == conditions_in(odd)
