"""Tiles of lowered functions: those that a pipeline allocates several times."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.device import run
from tvm.s_tir import Schedule
from tvm.script import tirx as T
from vector_unit.device import VectorConfig
from vector_unit.installed import vector_unit

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.devices.gemmini import GemminiConfig
from npu_target.intrin import gemm_intrinsic
from npu_target.passes.lower import allocated_buffers, lower
from npu_target.passes.memory import LocalBuffer
from npu_target.passes.tiles import tile_buffers
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Add, Conv2d, Matmul, MaxPool2d, Operator
from npu_target.topi.mac_schedule import for_loops, schedule_mac
from npu_target.topi.mac_structure import MacStructure

__all__ = ["vector_unit"]

CONFIG = GemminiConfig()
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
D = CONFIG.dim
STEPS, BLOCKS = 2, 3


@T.prim_func(s_tir=True)
def product(
    a: T.Buffer((STEPS * D, D), "int8"),
    b: T.Buffer((BLOCKS, D, D), "int8"),
    out: T.Buffer((BLOCKS, STEPS * D, D), "int32"),
):
    T.func_attr({"tirx.noalias": True})
    with T.sblock("root"):
        for o, i, j, k in T.grid(BLOCKS, STEPS * D, D, D):
            with T.sblock("mac"):
                vo, vi, vj, vk = T.axis.remap("SSSR", [o, i, j, k])
                T.reads(a[vi, vk], b[vo, vk, vj])
                T.writes(out[vo, vi, vj])
                with T.init():
                    out[vo, vi, vj] = 0
                out[vo, vi, vj] += T.cast(a[vi, vk], "int32") * T.cast(b[vo, vk, vj], "int32")


def nested_in_a_pipeline() -> Schedule:
    """The next weights are loaded ahead; pixels come step by step, inside of the pipelined loop."""
    sch = Schedule(product)
    mac = sch.get_sblock("mac")
    load_a, load_b = (sch.cache_read(mac, operand, SCRATCHPAD) for operand in (0, 1))
    sch.cache_write(mac, 0, ACCUMULATOR)
    block, i, j, k = sch.get_loops(mac)
    steps, rows = sch.split(i, [None, D])
    sch.reorder(block, steps, rows, j, k)
    sch.compute_at(load_b, block, preserve_unit_loops=True)
    sch.compute_at(load_a, steps, preserve_unit_loops=True)
    sch.decompose_reduction(mac, block)
    sch.tensorize(rows, gemm_intrinsic(CONFIG, D))
    n_parts = len(sch.get(block).body.seq)
    sch.annotate(block, "software_pipeline_stage", [0] + [1] * (n_parts - 1))
    sch.annotate(block, "software_pipeline_order", list(range(n_parts)))
    return sch


def test_a_tile_of_prologue_loop_and_epilogue_is_one() -> None:
    func = nested_in_a_pipeline().mod["main"]
    lowered = lower(func, CONFIG)
    names = [buffer.name for buffer in allocated_buffers(lowered.func)]
    assert len(names) > len(set(names))
    assert sorted(buffer.name for buffer in tile_buffers(lowered, CONFIG)) == sorted(set(names))
    generator = np.random.default_rng(1)
    a = generator.integers(-128, 128, (STEPS * D, D), np.int8)
    b = generator.integers(-128, 128, (BLOCKS, D, D), np.int8)
    found = run(build_program(func, CONFIG, "k"), [a, b], unwritten=85, seed=1)
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32))


def tiles_of(operator: Operator) -> list[LocalBuffer]:
    """By the operator's default schedule."""
    schedule = default_schedule(operator.kernel(), CONFIG)
    return tile_buffers(lower(schedule.mod["main"], CONFIG), CONFIG)


def test_a_tile_is_pooled_where_a_store_takes_several_of_its_elements() -> None:
    (tile,) = tiles_of(MaxPool2d(1, 28, 28, 64, 3, 2, (1, 1, 1, 1)))
    assert tile.pooled
    for operator in (Matmul(1, 32, 32, 32), Add(49, 64, D, scale=0.5)):
        assert not any(tile.pooled for tile in tiles_of(operator))


def test_rows_of_several_lines_have_room_for_all_but_the_first() -> None:
    """A first layer has lines of 7 by 3 numbers, of which tiles take 5: three fit a row."""
    tiles = tiles_of(Conv2d(1, 224, 224, 3, 64, 7, 7, (2, 2), (3, 3, 3, 3)))
    assert {tile.spare_rows for tile in tiles} == {0, D // 5 - 1}


@pytest.mark.parametrize("blocks", [1, 4])
def test_blocks_of_sums_that_are_stored_together_lie_side_by_side(blocks: int) -> None:
    operator = Matmul(1, 2 * D, D, blocks * D)
    schedule = Schedule(operator.kernel().prim_func(CONFIG))
    schedule_mac(schedule, MacStructure(wide=True), {"blocks": [1, blocks], "steps": [1, 2]})
    tiles = tile_buffers(lower(schedule.mod["main"], CONFIG), CONFIG)
    assert {tile.name: tile.wide_rows for tile in tiles if tile.scope == ACCUMULATOR} == {
        "acc_global.accumulator": D
    }
    assert not any(tile.wide_rows for tile in tiles if tile.scope == SCRATCHPAD)


def test_blocks_that_steps_of_more_rows_would_write_over_lie_in_no_row(vector_unit):
    """Side by side they are a block's columns of rows apart."""
    config = VectorConfig(input_rows=512)
    operator = Matmul(1, 2 * config.dim, config.dim, 2 * config.dim)
    schedule = Schedule(operator.kernel().prim_func(config))
    structures = [MacStructure(wide=True)]
    assert not any(one.wide for one in for_loops(schedule, structures, config))
    sizes = {name: [1, 1] for name in ("lines", "steps")}
    schedule_mac(schedule, structures[0], {"blocks": [1, 2], **sizes})
    with pytest.raises(CodegenError, match="steps of 16 rows would write over each other"):
        build_program(schedule.mod["main"], config, "product")
