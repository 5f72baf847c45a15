"""Tiles of which rows are read that nothing has written: where tiles are inside out, or their loads
behind the steps."""

from __future__ import annotations

import hand_written
import numpy as np
import pytest
import tvm
from fuzz.device import run
from tvm.s_tir import Schedule
from tvm.script import tirx as T

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.devices.gemmini import GemminiConfig
from npu_target.intrin import gemm_intrinsic
from npu_target.topi import MaxPool2d

CONFIG = GemminiConfig()
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
D = CONFIG.dim
STEPS, UNWRITTEN = 4, 85


@T.prim_func(s_tir=True)
def product(
    a: T.Buffer((STEPS * D, D), "int8"),
    b: T.Buffer((D, D), "int8"),
    out: T.Buffer((STEPS * D, D), "int32"),
):
    T.func_attr({"tirx.noalias": True})
    with T.sblock("root"):
        for i, j, k in T.grid(STEPS * D, D, D):
            with T.sblock("mac"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(a[vi, vk], b[vk, vj])
                T.writes(out[vi, vj])
                with T.init():
                    out[vi, vj] = 0
                out[vi, vj] += T.cast(a[vi, vk], "int32") * T.cast(b[vk, vj], "int32")


def scheduled(inside_out: bool, store_with_it: bool, tensorized: bool = True) -> Schedule:
    """Two tiles of two steps, or the second of each tile after the first of each."""
    sch = Schedule(product)
    mac = sch.get_sblock("mac")
    scopes = (SCRATCHPAD, ACCUMULATOR) if tensorized else ("global", "global")
    for operand in (0, 1):
        sch.cache_read(mac, operand, scopes[0])
    store = sch.cache_write(mac, 0, scopes[1])
    i, j, k = sch.get_loops(mac)
    tiles, steps, rows = sch.split(i, [2, 2, D])
    outer, inner = (steps, tiles) if inside_out else (tiles, steps)
    sch.reorder(outer, inner, rows, j, k)
    if store_with_it:
        sch.reverse_compute_at(store, outer)
    sch.decompose_reduction(mac, outer if not store_with_it else inner)
    if tensorized:
        sch.tensorize(rows, gemm_intrinsic(CONFIG, D))
    return sch


def inputs() -> tuple[list[np.ndarray], np.ndarray]:
    generator = np.random.default_rng(1)
    a = generator.integers(-128, 128, (STEPS * D, D), np.int8)
    b = generator.integers(-128, 128, (D, D), np.int8)
    return [a, b], a.astype(np.int32) @ b.astype(np.int32)


@pytest.mark.parametrize("inside_out", [False, True])
@pytest.mark.parametrize("store_with_it", [False, True])
def test_rows_between_those_of_an_iteration(inside_out: bool, store_with_it: bool) -> None:
    func = scheduled(inside_out, store_with_it).mod["main"]
    if inside_out and store_with_it:
        with pytest.raises(
            CodegenError, match=r"^k: block `mac_init`: rows of tile out_\S+ are read"
        ):
            build_program(func, CONFIG, "k")
        return
    arrays, expected = inputs()
    found = run(build_program(func, CONFIG, "k"), arrays, UNWRITTEN, seed=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("stages", [None, [0, 0, 1], [0, 1, 1]])
@pytest.mark.parametrize("load", ["a", "b"])
def test_a_load_behind_the_steps_that_read_it(load: str, stages: list[int] | None) -> None:
    """`reverse_compute_at` puts it there where the steps are tensorized."""
    sch = scheduled(inside_out=False, store_with_it=True)
    tiles = sch.get_loops(sch.get_sblock("mac_update_o"))[0]
    sch.reverse_compute_at(sch.get_sblock(f"{load}_{SCRATCHPAD}"), tiles)
    statements = len(sch.get(tiles).body.seq)
    if stages is not None:
        stages = [*stages, *[1] * (statements - len(stages))]
        sch.annotate(tiles, "software_pipeline_stage", stages)
        sch.annotate(tiles, "software_pipeline_order", list(range(statements)))
    with pytest.raises(
        CodegenError,
        match=rf"^k: block `mac_update_o`: rows of tile {load}_\S+ are read before anything writes",
    ):
        build_program(sch.mod["main"], CONFIG, "k")


def test_rows_of_another_iteration_of_the_loops_that_hold_the_tile() -> None:
    """The store of a window after each of its rows: TVM allocates the tile where both are, inside
    of the loops over rows, so that it has the same rows for every image."""
    pool = MaxPool2d(2, 4, 4, 16, size=2, stride=2, pad=(0, 0, 0, 0))
    sch = Schedule(pool.prim_func(CONFIG))
    load, store = sch.get_sblock("load_a"), sch.get_sblock("store")
    sch.set_scope(load, 0, ACCUMULATOR)
    image, block, line, pixel, _ = sch.get_loops(load)
    sch.reorder(line, pixel, image, block)
    sch.reverse_compute_at(store, block)
    with pytest.raises(
        CodegenError, match=r"^k: block `load_a`: rows of tile a\S* are read that nothing writes"
    ):
        build_program(sch.mod["main"], CONFIG, "k")


# With a stage in between, what TVM makes before and behind the loop has conditions: the versions
# of a tile are counted from the first iteration in which they are there.
@pytest.mark.parametrize("steps", [3, 4, 8])
@pytest.mark.parametrize(
    ("stages", "order"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, 2], [2, 1, 0]),
        ([0, 1, 2], [0, 2, 1]),
        ([0, 0, 2], [0, 1, 2]),
        ([0, 2, 2], [0, 1, 2]),
        ([0, 2, 3], [0, 1, 2]),
    ],
)
def test_rows_under_conditions(steps: int, stages: list[int], order: list[int]) -> None:
    side = hand_written.CONFIG.dim

    def place(sch: Schedule, a, b, c, loops) -> None:
        sch.compute_at(a, loops[0])
        sch.reverse_compute_at(c, loops[0])
        sch.annotate(loops[0], "software_pipeline_stage", stages)
        sch.annotate(loops[0], "software_pipeline_order", order)

    sch = Schedule(hand_written.matmul(steps * side, 3 * side, 2 * side))
    hand_written.by_hand(sch, side, place)
    hand_written.run(sch.mod["main"], seed=steps)


def test_tvm_computes_wrong_values_of_it() -> None:
    """The schedule is TVM's, and so is the fault: should this fail, TVM has mended it, and such
    schedules need no longer be refused."""
    arrays, expected = inputs()
    output = tvm.runtime.tensor(np.full(expected.shape, UNWRITTEN, np.int32))
    sch = scheduled(inside_out=True, store_with_it=True, tensorized=False)
    tvm.compile(sch.mod, target="llvm")(*map(tvm.runtime.tensor, arrays), output)
    assert (output.numpy() != expected).any()
