"""Rules find products by the description of the device's step, in functions of anyone."""

from __future__ import annotations

import pytest
from hand_written import CONFIG, batch_matmul, matmul, pointwise_conv, run
from tvm.s_tir import Schedule
from tvm.script import tirx as T

from npu_target.codegen_tir import build_program
from npu_target.schedule_rules.described import described_blocks
from npu_target.schedule_rules.rules import TileDescribedSteps
from npu_target.topi import Matmul
from npu_target.topi.mac_schedule import for_loops, scheduled_mac
from npu_target.topi.mac_structure import MacStructure

D = CONFIG.dim


@T.prim_func(s_tir=True)
def loops_of_another_order(
    A: T.Buffer((20, 24), "int8"), B: T.Buffer((24, 13), "int8"), C: T.Buffer((20, 13), "int32")
):
    for j, k, i in T.grid(13, 24, 20):
        with T.sblock("anything"):
            vj, vk, vi = T.axis.remap("SRS", [j, k, i])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")


def strided_conv(stride: int):
    """A 3x3 convolution, unpadded, whose channels are whole blocks."""
    h, w = 4 * stride + 3, 9 * stride + 3

    @T.prim_func(s_tir=True)
    def func(
        A: T.Buffer((h, w, 2 * D), "int8"),
        B: T.Buffer((3, 3, 2 * D, D), "int8"),
        C: T.Buffer((5, 10, D), "int32"),
    ):
        for y, x, j, p, q, k in T.grid(5, 10, D, 3, 3, 2 * D):
            with T.sblock("conv"):
                vy, vx, vj, vp, vq, vk = T.axis.remap("SSSRRR", [y, x, j, p, q, k])
                with T.init():
                    C[vy, vx, vj] = 0
                C[vy, vx, vj] += T.cast(
                    A[vy * stride + vp, vx * stride + vq, vk], "int32"
                ) * T.cast(B[vp, vq, vk, vj], "int32")

    return func


@T.prim_func(s_tir=True)
def transposed_weights(
    A: T.Buffer((16, 16), "int8"), B: T.Buffer((16, 16), "int8"), C: T.Buffer((16, 16), "int32")
):
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vj, vk], "int32")


@T.prim_func(s_tir=True)
def in_float(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]


def block_of(sch: Schedule):
    (name,) = (str(block) for block in ("product", "anything", "conv") if _has(sch, block))
    return sch.get_sblock(name)


def _has(sch: Schedule, name: str) -> bool:
    return f'sblock("{name}")' in sch.mod.script()


STRUCTURES = [
    MacStructure(pipelined=False),
    MacStructure("inputs_kept", kept=True, two_sums=True, wide=True),
    MacStructure(split_depth=True, step_order="kernel_first"),
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=range(3))
@pytest.mark.parametrize(
    ("func", "roles"),
    [
        (matmul(16, 24, 16), "batch pixels blocks lane depth depth_lane"),
        (matmul(13, 21, 10), "batch pixels blocks lane depth depth_lane"),
        (matmul(1, 5, 1), "batch pixels blocks lane depth depth_lane"),
        (loops_of_another_order, "batch blocks lane depth depth_lane pixels"),
        (batch_matmul(2, 9, 12, 17), "batch pixels blocks lane depth depth_lane"),
        (pointwise_conv(3, 10, 12, 20), "batch lines pixels blocks lane depth depth_lane"),
    ],
)
def test_products_are_found_and_right(func, roles, structure):
    sch = Schedule(func, seed=1)
    blocks = described_blocks(sch, block_of(sch), CONFIG)
    assert blocks is not None
    assert blocks.loops == tuple(roles.split())
    (scheduled,) = scheduled_mac(sch, for_loops(sch, [structure], CONFIG, blocks), blocks)
    run(scheduled.mod["main"])


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_walk_rows_that_lie_apart(stride):
    sch = Schedule(strided_conv(stride), seed=1)
    blocks = described_blocks(sch, block_of(sch), CONFIG)
    assert blocks is not None
    assert blocks.intrinsic.endswith(f"_step{stride}")
    assert {"lines", "kernel_h", "kernel_w"} < set(blocks.loops)
    (scheduled,) = scheduled_mac(sch, [MacStructure()], blocks)
    build_program(scheduled.mod["main"], CONFIG, "conv")


@pytest.mark.parametrize("func", [transposed_weights, in_float])
def test_what_the_step_does_not_compute_stays_as_it_is(func):
    sch = Schedule(func)
    before = sch.mod.script()
    assert described_blocks(sch, block_of(sch), CONFIG) is None
    assert sch.mod.script() == before
    assert TileDescribedSteps(CONFIG).apply(sch, block_of(sch)) == [sch]


def test_definitions_of_the_package_are_left_to_their_own_rule():
    sch = Schedule(Matmul(1, 16, 16, 16).prim_func(CONFIG))
    assert TileDescribedSteps(CONFIG).apply(sch, sch.get_sblock("mac")) == [sch]


def test_a_requantizing_block_is_the_store():
    from npu_target.devices.gemmini.numbers import NUMBERS

    requantize = NUMBERS.rule.expression

    @T.prim_func(s_tir=True)
    def func(
        A: T.Buffer((13, 20), "int8"),
        B: T.Buffer((20, 10), "int8"),
        out: T.Buffer((13, 10), "int8"),
    ):
        with T.sblock("root"):
            C = T.sblock_alloc_buffer((13, 10), "int32")
            for i, j, k in T.grid(13, 10, 20):
                with T.sblock("product"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi, vj] = 0
                    C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")
            for i, j in T.grid(13, 10):
                with T.sblock("requantize"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    out[vi, vj] = requantize(C[vi, vj], 0.01)

    sch = Schedule(func, seed=1)
    blocks = described_blocks(sch, sch.get_sblock("product"), CONFIG)
    assert blocks is not None
    (scheduled,) = scheduled_mac(sch, [MacStructure()], blocks)
    run(scheduled.mod["main"], reference=lambda sums: NUMBERS.rule.evaluate(sums, 0.01))


def test_the_rule_gives_a_schedule_for_each_structure():
    sch = Schedule(matmul(16, 24, 16), seed=1)
    found = TileDescribedSteps(CONFIG).apply(sch, sch.get_sblock("product"))
    assert len(found) > 10
    assert all("npu.gemm" in x.mod.script() for x in found)
    for scheduled in found[::8]:
        run(scheduled.mod["main"])
