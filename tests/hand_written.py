"""Functions written in plain TensorIR, as someone new to the device would, and their schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from kernel_runs import run_program
from tvm.s_tir import Schedule
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig, preset
from npu_target.intrin import gemm_intrinsic
from npu_target.program import Program

CONFIG = preset("gemmini-8x8")
SPAD, ACC = (memory.scope for memory in CONFIG.memories.all)


def matmul(m: int, k: int, n: int) -> PrimFunc:
    """``C[i, j] = sum over k of A[i, k] * B[k, j]``, in int32."""

    @T.prim_func(s_tir=True)
    def func(
        A: T.Buffer((m, k), "int8"), B: T.Buffer((k, n), "int8"), C: T.Buffer((m, n), "int32")
    ):
        for i, j, p in T.grid(m, n, k):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, p])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")

    return func


def batch_matmul(batch: int, m: int, k: int, n: int) -> PrimFunc:
    """As `matmul`, for each of a batch."""

    @T.prim_func(s_tir=True)
    def func(
        A: T.Buffer((batch, m, k), "int8"),
        B: T.Buffer((batch, k, n), "int8"),
        C: T.Buffer((batch, m, n), "int32"),
    ):
        for b, i, j, p in T.grid(batch, m, n, k):
            with T.sblock("product"):
                vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, p])
                with T.init():
                    C[vb, vi, vj] = 0
                C[vb, vi, vj] += T.cast(A[vb, vi, vk], "int32") * T.cast(B[vb, vk, vj], "int32")

    return func


def pointwise_conv(h: int, w: int, ci: int, co: int) -> PrimFunc:
    """A convolution with a kernel of one pixel, NHWC without N."""

    @T.prim_func(s_tir=True)
    def func(
        A: T.Buffer((h, w, ci), "int8"),
        B: T.Buffer((ci, co), "int8"),
        C: T.Buffer((h, w, co), "int32"),
    ):
        for y, x, j, p in T.grid(h, w, co, ci):
            with T.sblock("product"):
                vy, vx, vj, vk = T.axis.remap("SSSR", [y, x, j, p])
                with T.init():
                    C[vy, vx, vj] = 0
                C[vy, vx, vj] += T.cast(A[vy, vx, vk], "int32") * T.cast(B[vk, vj], "int32")

    return func


def copied(*shape: int) -> PrimFunc:
    """``C = A`` in int8, of two or three dimensions."""
    *lead, rows, columns = (1, *shape)[-3:]
    (outer,) = lead

    @T.prim_func(s_tir=True)
    def func(
        A: T.Buffer((outer, rows, columns), "int8"), C: T.Buffer((outer, rows, columns), "int8")
    ):
        for o, i, j in T.grid(outer, rows, columns):
            with T.sblock("copy"):
                vo, vi, vj = T.axis.remap("SSS", [o, i, j])
                C[vo, vi, vj] = A[vo, vi, vj]

    return func


def by_hand(
    sch: Schedule,
    rows: int,
    place: Callable[[Schedule, Any, Any, Any, Sequence[Any]], None] | None = None,
    config: DeviceConfig = CONFIG,
) -> None:
    """Schedule a product: padded to whole steps of so many rows, its tiles the whole tensors unless
    ``place`` puts the loads of A and B and the store elsewhere, given the loops over steps."""
    product, dim = sch.get_sblock("product"), config.dim
    n_loops = len(sch.get_loops(product))
    sch.pad_einsum(product, [1] * (n_loops - 3) + [rows, dim, dim])
    *around, i, j, k = sch.get_loops(product)
    (io, ii), (jo, ji), (ko, ki) = (
        sch.split(loop, [None, size]) for loop, size in ((i, rows), (j, dim), (k, dim))
    )
    sch.reorder(*around, io, jo, ko, ii, ji, ki)
    a, b = (_tile(sch, product, index) for index in range(2))
    consumers = sch.get_consumers(product)
    c = consumers[0] if consumers else sch.cache_write(product, 0, ACC)
    sch.set_scope(product, 0, ACC)
    if place is not None:
        place(sch, a, b, c, [*around, io, jo, ko])
    sch.decompose_reduction(product, ko)
    sch.tensorize(ii, gemm_intrinsic(config, rows))


def _tile(sch: Schedule, product: Any, index: int) -> Any:
    """The block that fills the tile of an operand: the one that pads it, or a copy."""
    region = sch.get(product).reads[index]
    for producer in sch.get_producers(product):
        if sch.get(producer).writes[0].source.same_as(region.source):
            sch.set_scope(producer, 0, SPAD)
            return producer
    return sch.cache_read(product, index, SPAD)


def run(
    func: PrimFunc,
    config: DeviceConfig = CONFIG,
    seed: int = 0,
    reference: Callable[[np.ndarray], np.ndarray] = lambda sums: sums,
) -> Program:
    """Compile and run a scheduled product or copy, and compare with NumPy; ``reference`` is what
    becomes of the sums."""
    program = build_program(func, config, "by_hand")
    generator = np.random.default_rng(seed)
    inputs = [
        generator.integers(-128, 128, arg.shape, np.dtype(arg.dtype)) for arg in program.args[:-1]
    ]
    result = run_program(program, inputs)
    wanted = inputs[0]
    if len(inputs) == 2:
        wanted = reference(np.matmul(*(array.astype(np.int32) for array in inputs)))
    np.testing.assert_array_equal(result, wanted)
    return program
