"""Marks that are only written into a trace, against those that a schedule is given."""

from __future__ import annotations

import tvm_ffi
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.device import preset
from npu_target.topi.marked_trace import MarkedTrace, MarkPlace

START = Schedule(topi.Matmul(1, 32, 64, 48).prim_func(preset("gemmini-16x16")))


def mark(schedule: Schedule | MarkedTrace, block):
    loop = schedule.get_loops(block)[-len(schedule.get(block).iter_vars)]
    schedule.annotate(loop, "a mark", 1)
    schedule.annotate(loop, "another", [0, 2, 1])


def test_a_marked_trace_is_that_of_the_schedule_with_the_marks():
    marked, plain = START.copy(), START.copy()
    block = marked.get_sblock("load_b")
    mark(marked, block)
    after = marked.get_sblock("store")
    marked.annotate(marked.get_loops(after)[0], "behind", 1)

    same = plain.get_sblock("load_b")
    index = len(plain.trace.insts)
    store = plain.get_sblock("store")
    plain.annotate(plain.get_loops(store)[0], "behind", 1)
    place = MarkPlace(plain, index)
    trace = MarkedTrace(place)
    mark(trace, same)

    assert str(trace.trace.as_json()) == str(marked.trace.as_json())
    replayed = START.copy()
    trace.trace.apply_to_schedule(replayed, remove_postproc=False)
    assert tvm_ffi.structural_equal(replayed.mod, marked.mod)
    # Each trace at a place has marks of its own.
    assert len(MarkedTrace(place).trace.insts) == len(place.before) + len(place.after)
