"""Columns that a load leaves as they were: who may read them, and who is refused."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.device import run
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import kernel_schedule
from operator_strategies import operators
from tvm import tirx
from tvm.script import tirx as T

from npu_target import topi
from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import preset
from npu_target.devices.gemmini.gemm import Gemm
from npu_target.passes.columns import check_columns

CONFIG = preset("gemmini-16x16")
GEMM_CALL = Gemm.call
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
SMALL = preset("gemmini-8x8")
D = CONFIG.dim
K, N = 48, 32
UNWRITTEN = 85


def masked_product(a_depth: int, b_depth: int, b_columns: int, stored: int) -> tirx.PrimFunc:
    """A product of 16 x 48 by 48 x 32 that takes so many columns and rows, and stores some."""

    @T.prim_func(s_tir=True)
    def product(
        x: T.Buffer((D, K), "int8"), w: T.Buffer((K, N), "int8"), y: T.Buffer((D, N), "int32")
    ):
        a = T.alloc_buffer((3, D, D), "int8", scope=SCRATCHPAD)
        b = T.alloc_buffer((3, 2, D, D), "int8", scope=SCRATCHPAD)
        acc = T.alloc_buffer((2, D, D), "int32", scope=ACCUMULATOR)
        for kb, r, c in T.grid(3, D, D):
            a[kb, r, c] = T.if_then_else(kb * D + c < a_depth, x[r, kb * D + c], T.int8(0))
        for kb, jb, r, c in T.grid(3, 2, D, D):
            b[kb, jb, r, c] = T.if_then_else(
                kb * D + r < b_depth and jb * D + c < b_columns,
                w[kb * D + r, jb * D + c],
                T.int8(0),
            )
        for jb, r, c in T.grid(2, D, D):
            acc[jb, r, c] = 0
        for kb, jb in T.grid(3, 2):
            T.evaluate(
                T.call_extern(
                    "int32",
                    GEMM_CALL,
                    T.address_of(a[kb, 0, 0]),
                    T.address_of(b[kb, jb, 0, 0]),
                    T.address_of(acc[jb, 0, 0]),
                    D,
                    1,
                )
            )
        for jb, r, c in T.grid(2, D, D):
            if jb * D + c < stored:
                y[r, jb * D + c] = acc[jb, r, c]

    return product


def run_masked(a_depth: int, b_depth: int, b_columns: int, stored: int) -> None:
    """Refused, or right: whatever the memories hold at the start."""
    program = build_program(masked_product(a_depth, b_depth, b_columns, stored), CONFIG, "k")
    generator = np.random.default_rng(1)
    x = generator.integers(-128, 128, (D, K), np.int8)
    w = generator.integers(-128, 128, (K, N), np.int8)
    a, b = np.zeros((D, K), np.int32), np.zeros((K, N), np.int32)
    a[:, :a_depth] = x[:, :a_depth]
    b[:b_depth, :b_columns] = w[:b_depth, :b_columns]
    expected = np.full((D, N), UNWRITTEN, np.int32)
    expected[:, :stored] = (a @ b)[:, :stored]
    np.testing.assert_array_equal(run(program, [x, w], UNWRITTEN, 1), expected)


def limits(end: int) -> st.SearchStrategy[int]:
    """Where a mask ends: anywhere, or with a block."""
    return st.integers(1, end) | st.integers(1, end // D).map(lambda blocks: blocks * D)


@settings(max_examples=40)
@given(limits(K), limits(K), limits(N), limits(N))
def test_masked_products_are_right_or_refused(a_depth, b_depth, b_columns, stored):
    # What a mask cuts off in whole blocks is zeros.
    is_right = (a_depth % D == 0 or b_depth <= a_depth) and (
        b_columns % D == 0 or stored <= b_columns
    )
    if is_right:
        run_masked(a_depth, b_depth, b_columns, stored)
    else:
        with pytest.raises(CodegenError, match="leaves as they were"):
            run_masked(a_depth, b_depth, b_columns, stored)


def test_a_masked_reduction_against_unmasked_weights_is_refused():
    with pytest.raises(CodegenError) as error:
        run_masked(20, K, N, N)
    text = str(error.value)
    assert text.startswith("k: a step reads columns of tile a that `a[kb, r, c] = ")
    assert "rows of tile b that are not zero; give `b[kb, jb, r, c] = " in text


def test_storing_columns_of_sums_that_are_not_loaded_is_refused():
    with pytest.raises(CodegenError) as error:
        run_masked(K, K, 20, 24)
    text = str(error.value)
    assert text.startswith("k: `y[r, jb * 16 + c] = acc[jb, r, c]` takes columns of tile acc that")
    assert text.endswith("take only those that it writes, by a condition on the column")


@T.prim_func(s_tir=True)
def padded_copy(x: T.Buffer((8, 12), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SCRATCHPAD)
    for r, c in T.grid(8, D):
        t[r, c] = T.if_then_else(c < 12, x[r, c], T.int8(0))
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def copy_of_another_iteration(x: T.Buffer((2, 8, D), "int8"), y: T.Buffer((2, 8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SCRATCHPAD)
    for i in range(2):
        for r, c in T.grid(8, D):
            if c < D - 8 * i:
                y[i, r, c] = t[r, c]
        for r, c in T.grid(8, D):
            t[r, c] = T.if_then_else(c < D - 8 * i, x[i, r, c], T.int8(0))


@T.prim_func(s_tir=True)
def copy_of_the_same_iteration(x: T.Buffer((2, 8, D), "int8"), y: T.Buffer((2, 8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SCRATCHPAD)
    for i in range(2):
        for r, c in T.grid(8, D):
            t[r, c] = T.if_then_else(c < D - 8 * i, x[i, r, c], T.int8(0))
        for r, c in T.grid(8, D):
            if c < D - 8 * i:
                y[i, r, c] = t[r, c]


@pytest.mark.parametrize("func", [padded_copy, copy_of_another_iteration])
def test_copies_that_take_undefined_columns_are_refused(func):
    with pytest.raises(CodegenError, match=r"takes columns of tile t that .* leaves as they were"):
        check_columns(func, CONFIG)


def test_a_loop_around_both_is_in_the_same_iteration():
    check_columns(copy_of_the_same_iteration, CONFIG)


@T.prim_func(s_tir=True)
def output_read_again(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SCRATCHPAD)
    for r, c in T.grid(8, D):
        t[r, c] = y[r, c]
    for r, c in T.grid(8, D):
        y[r, c] = t[r, c]


@T.prim_func(s_tir=True)
def input_written(x: T.Buffer((8, D), "int8"), y: T.Buffer((8, D), "int8")):
    t = T.alloc_buffer((8, D), "int8", scope=SCRATCHPAD)
    for r, c in T.grid(8, D):
        t[r, c] = x[r, c]
    for r, c in T.grid(8, D):
        x[r, c] = t[r, c]


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (output_read_again, r"k: `t\[r, c\] = y\[r, c\]` reads y, which is the output"),
        (input_written, r"k: `x\[r, c\] = t\[r, c\]` writes x, which is an input"),
    ],
)
def test_memory_that_is_written_is_not_read(func, text):
    with pytest.raises(CodegenError, match=text):
        build_program(func, CONFIG, "k")


@settings(max_examples=30)
@given(st.one_of(*operators(SMALL).values()), st.integers(0, 99), st.integers(1, 99))
def test_operators_rely_on_no_undefined_column(
    operator: topi.Operator, template: int, seed: int
) -> None:
    schedule = kernel_schedule(operator, SMALL, seed=seed)
    found = list(operator.kernel().templates(SMALL))
    found[template % len(found)](schedule)
    check_columns(schedule.mod["main"], SMALL)
