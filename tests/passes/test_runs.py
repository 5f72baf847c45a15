"""Which loops are cut into runs, and what becomes of them."""

from __future__ import annotations

from tvm.script import tirx as T

from npu_target.device import preset
from npu_target.passes.runs import cut_into_runs

CONFIG = preset("gemmini-16x16")


@T.prim_func(s_tir=True)
def two_kinds():
    a = T.alloc_buffer((2, 3, 9, 16), "int8", scope="global.scratchpad")
    b = T.alloc_buffer((10, 16, 16), "int8", scope="global.scratchpad")
    c = T.alloc_buffer((3, 16, 16), "int32", scope="global.accumulator")
    for i, r in T.grid(3, 10):
        T.call_extern(
            "int32",
            "npu.gemm",
            T.address_of(a[(r - 3) // 7 % 2, i, T.min(r * 3, (r - 3) % 7), 0]),
            T.address_of(b[r, 0, 0]),
            T.address_of(c[i, 0, 0]),
            16,
            1,
        )


@T.prim_func(s_tir=True)
def one_kind_each():
    a = T.alloc_buffer((2, 3, 9, 16), "int8", scope="global.scratchpad")
    b = T.alloc_buffer((10, 16, 16), "int8", scope="global.scratchpad")
    c = T.alloc_buffer((3, 16, 16), "int32", scope="global.accumulator")
    for i, r in T.grid(3, 3):
        T.call_extern(
            "int32",
            "npu.gemm",
            T.address_of(a[1, i, r * 3, 0]),
            T.address_of(b[r, 0, 0]),
            T.address_of(c[i, 0, 0]),
            16,
            1,
        )
    for i, r in T.grid(3, 7):
        T.call_extern(
            "int32",
            "npu.gemm",
            T.address_of(a[0, i, r, 0]),
            T.address_of(b[r + 3, 0, 0]),
            T.address_of(c[i, 0, 0]),
            16,
            1,
        )


@T.prim_func(s_tir=True)
def rows_of_lines(x: T.Buffer((4, 20), "int8")):
    tile = T.alloc_buffer((16, 16), "int8", scope="global.scratchpad")
    for row, column in T.grid(16, 16):
        tile[row, column] = T.if_then_else(row // 5 < 3, x[row // 5, row % 5 + column], T.int8(0))


@T.prim_func(s_tir=True)
def lines_apart(x: T.Buffer((4, 20), "int8")):
    tile = T.alloc_buffer((16, 16), "int8", scope="global.scratchpad")
    for row, column in T.grid(5, 16):
        tile[row, column] = x[0, column + row]
    for row, column in T.grid(5, 16):
        tile[row + 5, column] = x[1, column + row]
    for row, column in T.grid(5, 16):
        tile[row + 10, column] = x[2, column + row]
    for row, column in T.grid(1, 16):  # noqa: B007
        tile[15, column] = T.int8(0)


@T.prim_func(s_tir=True)
def columns_of_lines(x: T.Buffer((4, 20), "int8")):
    tile = T.alloc_buffer((2, 16), "int8", scope="global.scratchpad")
    for row, column in T.grid(2, 16):
        tile[row, column] = x[row + column // 8, column % 8]


@T.prim_func(s_tir=True)
def versions():
    a = T.alloc_buffer((2, 16, 16), "int8", scope="global.scratchpad")
    b = T.alloc_buffer((1, 16, 16), "int8", scope="global.scratchpad")
    c = T.alloc_buffer((3, 16, 16), "int32", scope="global.accumulator")
    for t in range(9):
        for i in range(3):
            T.call_extern(
                "int32",
                "npu.gemm",
                T.address_of(a[(t + i) % 2, 0, 0]),
                T.address_of(b[0, 0, 0]),
                T.address_of(c[i, 0, 0]),
                16,
                1,
            )


def test_a_loop_over_two_kinds_of_steps_becomes_two() -> None:
    assert cut_into_runs(two_kinds, CONFIG).script() == one_kind_each.script().replace(
        "one_kind_each", "two_kinds"
    )


def test_a_loop_over_rows_of_several_lines_becomes_one_for_each() -> None:
    assert cut_into_runs(rows_of_lines, CONFIG).script() == lines_apart.script().replace(
        "lines_apart", "rows_of_lines"
    )


def test_columns_stay_together() -> None:
    assert cut_into_runs(columns_of_lines, CONFIG).same_as(columns_of_lines)


def test_versions_that_other_loops_decide_too_are_left_alone() -> None:
    assert cut_into_runs(versions, CONFIG).same_as(versions)
