"""Tiles as `cache_read` and `cache_write` make them are put into the device's blocks."""

from __future__ import annotations

import pytest
from hand_written import CONFIG, SPAD, batch_matmul, by_hand, copied, matmul, pointwise_conv, run
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.s_tir import Schedule
from tvm.script import tirx as T

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import preset
from npu_target.passes.lower import allocated_buffers, lower
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Matmul

D = CONFIG.dim


def tile_shapes(sch: Schedule) -> dict[str, tuple[int, ...]]:
    buffers = allocated_buffers(lower(sch.mod["main"], CONFIG).func)
    return {str(buffer.name): tuple(map(int, buffer.shape)) for buffer in buffers}


def inside(level: int):
    """Places the tiles of a product in one of the loops over its steps."""

    def place(sch, a, b, c, loops):
        for load in (a, b):
            sch.compute_at(load, loops[level])
        sch.reverse_compute_at(c, loops[min(level, len(loops) - 2)])

    return place


def test_tiles_have_rows_of_the_memory():
    sch = Schedule(matmul(16, 3 * D, 2 * D))
    by_hand(sch, D)
    assert tile_shapes(sch) == {
        "A_global.scratchpad": (1, 3, 16, D),
        "B_global.scratchpad": (1, 2, 3 * D, D),
        "C_global.accumulator": (1, 2, 16, D),
    }
    run(sch.mod["main"])


def test_versions_stay_the_first_dimension():
    def place(sch, a, b, c, loops):
        sch.compute_at(a, loops[0])
        sch.reverse_compute_at(c, loops[0])
        sch.annotate(loops[0], "software_pipeline_stage", [0, 1, 1])
        sch.annotate(loops[0], "software_pipeline_order", [0, 1, 2])

    sch = Schedule(matmul(4 * D, 2 * D, 2 * D))
    by_hand(sch, D, place)
    assert tile_shapes(sch)["A_global.scratchpad"] == (2, 1, 2, D, D)
    run(sch.mod["main"])


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 40)] * 3),
    rows=st.integers(1, D),
    level=st.sampled_from([None, 0, 1, 2]),
    seed=st.integers(0, 9),
)
def test_products_of_any_size(sizes, rows, level, seed):
    sch = Schedule(matmul(*sizes))
    by_hand(sch, rows, None if level is None else inside(level))
    run(sch.mod["main"], seed=seed)


@pytest.mark.parametrize("level", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("func", [batch_matmul(3, 10, 20, 12), pointwise_conv(5, 9, 20, 12)])
def test_products_of_more_dimensions(func, level):
    sch = Schedule(func)
    by_hand(sch, 5, None if level is None else inside(level))
    run(sch.mod["main"])


@settings(max_examples=20, deadline=None)
@given(shape=st.lists(st.integers(1, 37), min_size=2, max_size=3))
def test_copies_of_any_size(shape):
    sch = Schedule(copied(*shape))
    sch.cache_read(sch.get_sblock("copy"), 0, SPAD)
    run(sch.mod["main"])


def test_a_load_takes_several_blocks():
    sch = Schedule(matmul(D, 4 * D, 4 * D))
    by_hand(sch, D)
    program = run(sch.mod["main"])
    assert f"{4 * D} cols, {D} rows" in program.text


def columns_in(first: int, inner: int | None):
    """A copy of 24 columns whose load begins later in DRAM, and walks columns by two loops."""

    @T.prim_func(s_tir=True)
    def func(x: T.Buffer((4, 40), "int8"), y: T.Buffer((4, 24), "int8")):
        t = T.alloc_buffer((4, 24), "int8", scope=SPAD)
        for r, c in T.grid(4, 24):
            t[r, c] = x[r, c + first]
        for r, o, c in T.grid(4, 24 // inner, inner):
            y[r, o * inner + c] = t[r, o * inner + c]

    return func


def test_a_load_may_begin_anywhere_in_dram():
    build_program(columns_in(5, D), CONFIG, "by_hand")


def test_a_store_of_part_of_a_row_has_to_begin_a_row():
    text = (
        r"tile `t`, axis 1: loop `c` of 6 columns begins at column `o \* 6`; a row of the "
        "scratchpad has 8 columns: a copy has to walk its columns by one loop that begins at a mult"
    )
    with pytest.raises(CodegenError, match=text):
        build_program(columns_in(0, 6), CONFIG, "by_hand")


@T.prim_func(s_tir=True)
def part_of_a_row(x: T.Buffer((4, 24), "int8"), y: T.Buffer((4, 24), "int8")):
    t = T.alloc_buffer((4, 24), "int8", scope=SPAD)
    for r, c in T.grid(4, 12):
        t[r, c] = x[r, c]
    for r, c in T.grid(4, 24):
        y[r, c] = t[r, c]


def test_a_load_must_not_end_inside_of_a_row():
    text = "`c` of 12 columns begins at column `0` and ends inside of a row; .* the tile 24: load a"
    with pytest.raises(CodegenError, match=text):
        build_program(part_of_a_row, CONFIG, "by_hand")


def step_at(column: str):
    at = {"inside": 3, "at the end": 16}[column]

    @T.prim_func(s_tir=True)
    def func(x: T.Buffer((D, 20), "int8"), y: T.Buffer((D, D), "int32")):
        a = T.alloc_buffer((D, 20), "int8", scope=SPAD)
        acc = T.alloc_buffer((D, D), "int32", scope="global.accumulator")
        for r, c in T.grid(D, 20):
            a[r, c] = x[r, c]
        for r, c in T.grid(D, D):
            acc[r, c] = 0
        T.evaluate(
            T.call_extern(
                "int32",
                "npu.gemm",
                T.address_of(a[0, at]),
                T.address_of(a[0, 0]),
                T.address_of(acc[0, 0]),
                D,
                1,
            )
        )
        for r, c in T.grid(D, D):
            y[r, c] = acc[r, c]

    return func


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("inside", "tile `a`, axis 1: a step begins at column 3; a row of the scratchpad has 8"),
        ("at the end", "takes 8 columns from column 16 on, the tile has 20: pad it"),
    ],
)
def test_steps_take_whole_rows(column, text):
    with pytest.raises(CodegenError, match=text):
        build_program(step_at(column), CONFIG, "by_hand")


def test_a_tile_that_only_computing_statements_use():
    sch = Schedule(matmul(D, 2 * D, D))
    sch.cache_read(sch.get_sblock("product"), 0, SPAD)
    text = "block `product`: no command computes `C.*`: it is no copy between DRAM and a tile"
    with pytest.raises(CodegenError, match=text):
        build_program(sch.mod["main"], CONFIG, "by_hand")


def test_tiles_of_another_device_are_refused():
    func = default_schedule(Matmul(1, 4, 4, 4), preset("gemmini-16x16")).mod["main"]
    text = "block `mac.*`: the step's intrinsic takes rows of 16 elements, the scratchpad of gemm"
    with pytest.raises(CodegenError, match=text):
        build_program(func, CONFIG, "by_hand")


def test_definitions_of_the_package_stay_as_they_are():
    """Their tiles are in blocks: the pass gives the function back."""
    from npu_target.passes import blocks

    sch = default_schedule(Matmul(1, 20, 20, 20), CONFIG)
    func = lower(sch.mod["main"], CONFIG).func
    assert blocks.block_tiles(func, allocated_buffers(func), {}, CONFIG).same_as(func)
