"""What is wrong with a schedule is said in its words: block, loop or axis, and what is needed."""

from __future__ import annotations

import re

import pytest
from hand_written import ACC, CONFIG, SPAD, by_hand, copied, matmul
from tvm.s_tir import Schedule
from tvm.script import tirx as T

from npu_target.codegen_tir import CodegenError, DoesNotFit, build_program
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.intrin import PACKED

requantize = NUMBERS.rule.expression
D = CONFIG.dim
# What no message holds: numbers of loops, forms of the compiler, its classes.
INTERNAL = re.compile(r"Linear|Atom\(|items=|const=|LoopExtent|object at 0x|`\?`")

PRODUCT = matmul(2 * D, 3 * D, 2 * D)


def product(change):
    """A product by hand, with what ``change`` does to its loads, its store and its loops."""

    def make():
        sch = Schedule(PRODUCT)
        by_hand(sch, D, change)
        return sch.mod["main"]

    return make


def of_copy(*shape, change):
    def make():
        sch = Schedule(copied(*shape))
        change(sch, sch.cache_read(sch.get_sblock("copy"), 0, SPAD))
        return sch.mod["main"]

    return make


def annotate(sch, loop, stages, order):
    sch.annotate(loop, "software_pipeline_stage", stages)
    sch.annotate(loop, "software_pipeline_order", order)


def pipeline(stages, order):
    def change(sch, a, b, c, loops):
        sch.compute_at(a, loops[0])
        sch.reverse_compute_at(c, loops[0])
        annotate(sch, loops[0], stages, order)

    return product(change)


def pipelined_twice(*inner):
    def change(sch, a, b, c, loops):
        sch.compute_at(a, loops[0])
        sch.compute_at(b, loops[1])
        sch.reverse_compute_at(c, loops[0])
        annotate(sch, loops[0], [0, 1, 1], [0, 1, 2])
        annotate(sch, loops[1], *inner)

    return product(change)


def split_copy(size):
    return product(lambda sch, a, b, c, loops: sch.split(sch.get_loops(b)[-1], [None, size]))


def fused_copy(sch, a, b, c, loops):
    sch.fuse(*sch.get_loops(a))


def packed(sch, a, b, c, loops):
    sch.annotate(sch.get_loops(b)[0], PACKED, [0])


def unscheduled():
    return PRODUCT


def not_tensorized():
    sch = Schedule(PRODUCT)
    block = sch.get_sblock("product")
    for index in range(2):
        sch.cache_read(block, index, SPAD)
    sch.cache_write(block, 0, ACC)
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    return sch.mod["main"]


def shared_memory():
    sch = Schedule(copied(4, D))
    sch.cache_read(sch.get_sblock("copy"), 0, "shared")
    return sch.mod["main"]


def through_the_accumulator():
    sch = Schedule(copied(4, D))
    sch.cache_read(sch.get_sblock("copy"), 0, ACC)
    return sch.mod["main"]


def elementwise(expression):
    """``C = expression(A)`` with A in the scratchpad."""

    def make():
        @T.prim_func(s_tir=True)
        def func(A: T.Buffer((4, D), "int8"), C: T.Buffer((4, D), "int8")):
            for i, j in T.grid(4, D):
                with T.sblock("compute"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = expression(A[vi, vj])

        sch = Schedule(func)
        sch.cache_read(sch.get_sblock("compute"), 0, SPAD)
        return sch.mod["main"]

    return make


def narrowed_sums():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4, D), "int32"), C: T.Buffer((4, D), "int8")):
        for i, j in T.grid(4, D):
            with T.sblock("compute"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.cast(A[vi, vj], "int8")

    sch = Schedule(func)
    sch.cache_read(sch.get_sblock("compute"), 0, ACC)
    return sch.mod["main"]


def loading(index):
    """A tile that is loaded from elements ``index(i, j)`` of an argument."""

    def make():
        @T.prim_func(s_tir=True)
        def func(A: T.Buffer((64, 64), "int8"), C: T.Buffer((4, D), "int8")):
            with T.sblock("root"):
                t = T.sblock_alloc_buffer((4, D), "int8", scope=SPAD)
                for i, j in T.grid(4, D):
                    with T.sblock("load"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        t[vi, vj] = index(A, vi, vj)
                for i, j in T.grid(4, D):
                    with T.sblock("store"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = t[vi, vj]

        return func

    return make


@T.prim_func(s_tir=True)
def reads_the_output(A: T.Buffer((4, D), "int8"), C: T.Buffer((4, D), "int8")):
    with T.sblock("root"):
        t = T.sblock_alloc_buffer((4, D), "int8", scope=SPAD)
        for i, j in T.grid(4, D):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                t[vi, vj] = C[vi, vj]
        for i, j in T.grid(4, D):
            with T.sblock("store"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = t[vi, vj]


@T.prim_func(s_tir=True)
def writes_an_input(
    A: T.Buffer((4, D), "int8"), B: T.Buffer((4, D), "int8"), C: T.Buffer((4, D), "int8")
):
    with T.sblock("root"):
        t = T.sblock_alloc_buffer((4, D), "int8", scope=SPAD)
        for i, j in T.grid(4, D):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                t[vi, vj] = B[vi, vj]
        for i, j in T.grid(4, D):
            with T.sblock("store"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = t[vi, vj]


@T.prim_func(s_tir=True)
def rows_that_nothing_writes(A: T.Buffer((4, D), "int8"), C: T.Buffer((8, D), "int8")):
    with T.sblock("root"):
        t = T.sblock_alloc_buffer((8, D), "int8", scope=SPAD)
        for i, j in T.grid(4, D):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                t[vi, vj] = A[vi, vj]
        for i, j in T.grid(8, D):
            with T.sblock("store"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = t[vi, vj]


FAILURES = {
    "nothing in the device's memories": (
        unscheduled,
        r"block `product`: no command computes `C\[vi, vj\] = 0`: .* a tile: keep it in",
    ),
    "nothing tensorized": (
        not_tensorized,
        r"block `product_update`: no command computes `.*`: it is no copy .* \(`tensorize`\)",
    ),
    "another device's memory": (
        shared_memory,
        "block `A_shared`: buffer A_shared has scope 'shared', needs 'global.scratchpad' or ",
    ),
    "int8 elements for sums": (
        through_the_accumulator,
        r"`A_global.accumulator`: .* the value read is int8, needs int32",
    ),
    "columns fused with rows": (
        product(fused_copy),
        r"block `A_global.scratchpad`: tile `A_global.scratchpad`, axis 1: a copy begins at column "
        r"`ax0_ax1_fused % 24`; a row of the scratchpad has 8 columns: a copy has to walk",
    ),
    "columns cut inside of a row": (
        split_copy(4),
        r"block `B_global.scratchpad`: .*, axis 1: loop `ax1_1` of 4 columns begins at column "
        r"`ax1_0 \* 4`; a row of the scratchpad has 8 columns",
    ),
    "a packed load of a plain tile": (product(packed), "a packed tile of B is no box of it|blocks"),
    "a stage too few": (
        pipeline([0, 1], [0, 1]),
        r"loop `i_0`: software_pipeline_stage is \[0, 1\], the loop holds 3 statements \(`A_global",
    ),
    "fewer iterations than stages": (
        pipeline([0, 1, 3], [0, 1, 2]),
        r"loop `i_0`: software_pipeline_stage goes to 3, the loop has 2 iterations: needs as many",
    ),
    "a pipeline in a pipeline": (
        pipelined_twice([0, 1, 1], [0, 1, 2]),
        "loop `i_0`: holds loop `j_0`, which is pipelined, too: .* counts as up to three",
    ),
    "a wrong pipeline in a pipeline": (
        pipelined_twice([0, 1], [0, 1]),
        r"loop `j_0`: software_pipeline_stage is \[0, 1\], the loop holds 3 statements",
    ),
    "an order that is none": (
        pipeline([0, 1, 1], [0, 2, 2]),
        r"loop `i_0`: software_pipeline_order is \[0, 2, 2\], needs each of 0 to 2 once",
    ),
    "a load after its steps": (
        pipeline([1, 0, 0], [0, 1, 2]),
        r"loop `i_0`: `product_init` and .* uses A_global.scratchpad, which `A_global.scratchpad` "
        "writes, but is of stage 0, before its stage 1",
    ),
    "a store before its steps": (
        pipeline([0, 0, 0], [0, 2, 1]),
        "`i_0`: `C_global.accumulator` uses .* but comes before it in the order of their stage 0",
    ),
    "arithmetic": (
        elementwise(lambda x: x + T.int8(1)),
        r"block `compute`: no command computes `C\[vi, vj\] = .* \+ .*`: .* not read from a tile",
    ),
    "requantized from the scratchpad": (
        elementwise(lambda x: requantize(T.cast(x, "int32"), 0.5)),
        r"block `compute`: .*: the value is not read from a tile: keep it in the device's memories",
    ),
    "sums stored as int8": (
        narrowed_sums,
        r"block `compute`: no command computes `.*`: the value is not read from a tile",
    ),
    "a transposing load": (
        loading(lambda A, i, j: A[j, i]),
        r"block `load`: no command computes `t\[vi, vj\] = A\[vj, vi\]`: a copy must move whole "
        r"rows of 8 neighbouring elements: along .* the tile, loop `j`, they lie 64 apart in DRAM",
    ),
    "rows backwards": (
        loading(lambda A, i, j: A[3 - i, j]),
        r"block `load`: .* loop `i` walks the rows of DRAM backwards, 64 elements at a time",
    ),
    "products of indices": (
        loading(lambda A, i, j: A[i * i, j]),
        r"block `load`: index expression i \* i multiplies two variables",
    ),
    "a condition of two cases": (
        loading(lambda A, i, j: T.if_then_else(T.Or(i < 1, i > 2), A[i, j], T.int8(0))),
        r"block `load`: .* condition .* \(Or\) is not supported",
    ),
    "padding that is no number": (
        loading(lambda A, i, j: T.if_then_else(i + j < 3, A[i, j], A[0, j])),
        "block `load`: .* padding must be a number",
    ),
    "a condition on every second column": (
        loading(lambda A, i, j: T.if_then_else(2 * j < 9, A[i, j], T.int8(0))),
        "block `.*`: .*(a condition does not bound the columns|leaves as they were)",
    ),
    "columns that nothing defines": (
        loading(lambda A, i, j: T.if_then_else(j < 3, A[i, j], T.int8(0))),
        r"block `store`: `C\[vi, vj\] = t\[vi, vj\]` takes columns of tile t that `t\[vi, vj\] = "
        ".*` leaves as they were; take only those that it writes",
    ),
    "the output read again": (
        lambda: reads_the_output,
        r"block `load`: `t\[vi, vj\] = C\[vi, vj\]` reads C, which is the output",
    ),
    "an input written": (
        lambda: writes_an_input,
        r"block `store`: `A\[vi, vj\] = t\[vi, vj\]` writes A, which is an input",
    ),
    "rows that nothing writes": (
        lambda: rows_that_nothing_writes,
        "block `load`: rows of tile t are read that nothing writes",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_the_message_names_the_block_and_what_is_needed(name):
    make, text = FAILURES[name]
    with pytest.raises(CodegenError, match=text) as error:
        build_program(make(), CONFIG, "by_hand")
    message = str(error.value)
    assert message.startswith("by_hand: ")
    assert "TVM does not lower" not in message
    assert not INTERNAL.search(message), message


def test_tiles_without_room_are_named():
    sch = Schedule(matmul(512, 512, 512))
    by_hand(sch, D)
    text = r"by_hand: tiles need 65536 rows of the scratchpad \(.*A_global.scratchpad 1 x 32768"
    with pytest.raises(DoesNotFit, match=text):
        build_program(sch.mod["main"], CONFIG, "by_hand")
