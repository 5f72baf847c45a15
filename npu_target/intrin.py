"""Tensor intrinsics: what a command computes, as TensorIR, beside what it becomes.

One factory per kind.  A description is what ``Schedule.tensorize`` matches; the implementation
calls ``npu.gemm`` on addresses of scratchpad and accumulator rows, which the code generator
turns into commands.  Copies (mvin, mvout), zero writes, bias loads, requantization and pooling
have no fixed shape on this device (rows and columns are operands), so they are not tensorized
but recognised in the lowered loops: see :mod:`npu_target.passes.copies`.
"""

from __future__ import annotations

from tvm import ir
from tvm.s_tir import TensorIntrin
from tvm.script import tirx as T

from .device import DeviceConfig

SCRATCHPAD = "global.scratchpad"
ACCUMULATOR = "global.accumulator"
GEMM_CALL = "npu.gemm"
# On the outermost loop of a store: the blocks of its sums lie side by side, so that one command
# stores several blocks of columns.
WIDE = "npu.wide"
# On the outermost loop of a load of weights: they lie in DRAM as the load puts them into its tile.
# The value is the order of the tile's dimensions but the last, in which its rows follow each other.
PACKED = "npu.packed"


def gemm_intrinsic(config: DeviceConfig, rows: int, row_step: int = 1) -> str:
    """Register, and name, the array's step with ``rows`` rows of A.

    Meaning: ``C[i, j] += int32(A[i * row_step, k]) * int32(B[k, j])`` for A int8
    ``[(rows - 1) * row_step + 1, dim]`` and B int8 ``[dim, dim]`` in the scratchpad, C int32
    ``[rows, dim]`` in the accumulator; one preload and one compute.

    Parameters
    ----------
    rows : 1 to ``dim``, the rows of A and C.
    row_step : scratchpad rows between two rows of A (the command's A stride).
    """
    D = config.dim
    if rows == 1:
        row_step = 1  # no row follows
    if not 1 <= rows <= D:
        raise ValueError(f"gemm_intrinsic: rows must be 1 to {D} on {config.name}, got {rows}")
    if row_step < 1:
        raise ValueError(f"gemm_intrinsic: row_step must be at least 1, got {row_step}")
    name = f"npu.gemm_{rows}x{D}x{D}_step{row_step}"
    if TensorIntrin.get(name, allow_missing=True) is not None:
        return name
    span = (rows - 1) * row_step + 1
    memories = config.memories
    inputs, weights, sums = memories.inputs, memories.weights, memories.sums

    @T.prim_func(s_tir=True)
    def many_rows(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (span, D), inputs.dtype, offset_factor=1, scope=inputs.scope)
        B = T.match_buffer(b, (D, D), weights.dtype, offset_factor=1, scope=weights.scope)
        C = T.match_buffer(c, (rows, D), sums.dtype, offset_factor=1, scope=sums.scope)
        with T.sblock("root"):
            T.reads(C[0:rows, 0:D], A[0:span, 0:D], B[0:D, 0:D])
            T.writes(C[0:rows, 0:D])
            for i, j, k in T.grid(rows, D, D):
                with T.sblock("mac"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi * row_step, vk], sums.dtype) * T.cast(
                        B[vk, vj], sums.dtype
                    )

    # Tensorizing drops the iterator of a loop that runs once, so one row needs its own form.
    @T.prim_func(s_tir=True)
    def one_row(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (1, D), inputs.dtype, offset_factor=1, scope=inputs.scope)
        B = T.match_buffer(b, (D, D), weights.dtype, offset_factor=1, scope=weights.scope)
        C = T.match_buffer(c, (1, D), sums.dtype, offset_factor=1, scope=sums.scope)
        with T.sblock("root"):
            T.reads(C[0, 0:D], A[0, 0:D], B[0:D, 0:D])
            T.writes(C[0, 0:D])
            for _, j, k in T.grid(1, D, D):
                with T.sblock("mac"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    C[0, vj] = C[0, vj] + T.cast(A[0, vk], sums.dtype) * T.cast(
                        B[vk, vj], sums.dtype
                    )

    @T.prim_func(s_tir=True)
    def implementation(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (span, D), inputs.dtype, offset_factor=1, scope=inputs.scope)
        B = T.match_buffer(b, (D, D), weights.dtype, offset_factor=1, scope=weights.scope)
        C = T.match_buffer(c, (rows, D), sums.dtype, offset_factor=1, scope=sums.scope)
        with T.sblock("root"):
            T.reads(C[0:rows, 0:D], A[0:span, 0:D], B[0:D, 0:D])
            T.writes(C[0:rows, 0:D])
            T.evaluate(
                T.call_extern(
                    "int32",
                    GEMM_CALL,
                    T.address_of(A[0, 0]),
                    T.address_of(B[0, 0]),
                    T.address_of(C[0, 0]),
                    rows,
                    row_step,
                )
            )

    TensorIntrin.register(name, one_row if rows == 1 else many_rows, implementation)
    return name


def gemm_rows(name: str) -> int:
    """The rows of A and C of an intrinsic that :func:`gemm_intrinsic` named."""
    destination = TensorIntrin.get(name).desc.params[2]
    return int(destination.shape[0])


def is_gemm(node: object) -> bool:
    """Whether a node is the array's step."""
    return (
        isinstance(node, ir.Call)
        and getattr(node.op, "name", "") == "tirx.call_extern"
        and node.args[0].value == GEMM_CALL
    )
