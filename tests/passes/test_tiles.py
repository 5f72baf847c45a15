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
from npu_target.passes.tiles import tile_buffers
from npu_target.topi import Matmul
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
