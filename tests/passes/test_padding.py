"""Which choices are hidden from TVM's passes, and that they come back as they were."""

from __future__ import annotations

import tvm_ffi
from tvm import ir, tirx
from tvm.script import tirx as T

from npu_target.passes.padding import hide_padding, show_padding


@T.prim_func(s_tir=True)
def padded(x: T.Buffer((40,), "int8"), y: T.Buffer((48,), "int8")):
    tile = T.alloc_buffer((48,), "int8", scope="global.scratchpad")
    for r in range(48):
        with T.sblock("load"):
            vr = T.axis.remap("S", [r])
            tile[vr] = T.if_then_else(vr >= 4 and vr < 44, x[vr - 4], T.int8(0))
    for r in range(48):
        with T.sblock("store"):
            vr = T.axis.remap("S", [r])
            y[vr] = T.if_then_else(vr < 40, tile[vr], T.int8(0))


def calls_in(func: tirx.PrimFunc) -> list[str]:
    found: list[str] = []
    tvm_ffi.structural_walk(func.body, (ir.Call, lambda call: found.append(str(call.op.name))))
    return found


def test_choices_from_arguments_are_hidden() -> None:
    hidden = hide_padding(padded)
    # What is read from a tile decides how large that is.
    assert calls_in(hidden) == ["tirx.call_pure_extern", "prim.if_then_else"]
    assert tvm_ffi.structural_equal(show_padding(hidden), padded)


def test_other_calls_stay() -> None:
    @T.prim_func(s_tir=True)
    def other(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = T.call_pure_extern("float32", "sinf", x[i])

    assert tvm_ffi.structural_equal(hide_padding(other), other)
    assert tvm_ffi.structural_equal(show_padding(other), other)
