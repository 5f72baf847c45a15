"""Tensor intrinsics: what a device's steps compute, as TensorIR, beside the calls they become.

A description is what ``Schedule.tensorize`` matches; the implementation calls an extern function on
addresses of rows of the device's memories, which the code generator turns into commands: whose
intrinsic it is, the manifest of the device says (:mod:`npu_target.device.intrinsic`).  Copies,
zero writes, bias loads, requantization and pooling have no fixed shape (rows and columns are
operands of commands), so they are not tensorized but recognised in the lowered loops: see
:mod:`npu_target.passes.copies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tvm import ir
from tvm.ir import TensorLoad
from tvm.s_tir import TensorIntrin
from tvm.script import tirx as T

from .device import DeviceConfig, kind_of
from .device.intrinsic import Access, Intrinsic, Operand

# On the outermost loop of a store: the blocks of its sums lie side by side, so that one command
# stores several blocks of columns.
WIDE = "npu.wide"
# On the outermost loop of a load of weights: they lie in DRAM as the load puts them into its tile.
# The value is the order of the tile's dimensions but the last, in which its rows follow each other.
PACKED = "npu.packed"


class StepCall(NamedTuple):
    """A call of an intrinsic: what it touches of each operand, and the first element of that."""

    intrinsic: Intrinsic
    operands: tuple[Operand, ...]
    elements: tuple[TensorLoad, ...]

    @property
    def written(self) -> TensorLoad:
        """The first element of what it writes, or adds to."""
        both = zip(self.operands, self.elements, strict=True)
        return next(x for operand, x in both if operand.access is not Access.READ)


def step_call(node: object, intrinsics: Mapping[str, Intrinsic]) -> StepCall | None:
    """The call that a node is, None where it is of none of these intrinsics."""
    if not isinstance(node, ir.Call) or getattr(node.op, "name", "") != "tirx.call_extern":
        return None
    intrinsic = intrinsics.get(str(node.args[0].value))
    if intrinsic is None:
        return None
    end = 1 + intrinsic.n_operands
    numbers = [int(number.value) for number in node.args[end:]]
    elements = tuple([address.args[0] for address in node.args[1:end]])
    return StepCall(intrinsic, intrinsic.operands(*numbers), elements)


def gemm_intrinsic(config: DeviceConfig, rows: int, row_step: int = 1) -> str:
    """Register, and name, the device's step that multiplies, with ``rows`` rows of A.

    Meaning: ``C[i, j] += A[i * row_step, k] * B[k, j]`` in the type of C, with A
    ``[(rows - 1) * row_step + 1, lanes]`` in the memory of inputs, B ``[lanes, columns]`` in that
    of weights, C ``[rows, columns]`` in that of sums; their rows are whole ones of these memories.

    Parameters
    ----------
    rows : the rows of A and C.
    row_step : rows of the memory between two rows of A.

    Raises
    ------
    ValueError
        for more rows than the step takes, or a device without one.
    """
    found = [x for x in kind_of(config).intrinsics(config).values() if x.multiplies]
    if not found:
        raise ValueError(f"gemm_intrinsic: {config.name} has no step that multiplies")
    call, most_rows = found[0].call, found[0].most_rows
    if rows == 1:
        row_step = 1  # no row follows
    if not 1 <= rows <= most_rows:
        raise ValueError(
            f"gemm_intrinsic: rows must be 1 to {most_rows} on {config.name}, got {rows}"
        )
    if row_step < 1:
        raise ValueError(f"gemm_intrinsic: row_step must be at least 1, got {row_step}")
    memories = config.memories
    inputs, weights, sums = memories.inputs, memories.weights, memories.sums
    K, D = inputs.columns, sums.columns
    name = f"{call}_{rows}x{K}x{D}_step{row_step}"
    if TensorIntrin.get(name, allow_missing=True) is not None:
        return name
    span = (rows - 1) * row_step + 1

    @T.prim_func(s_tir=True)
    def many_rows(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (span, K), inputs.dtype, offset_factor=1, scope=inputs.scope)
        B = T.match_buffer(b, (K, D), weights.dtype, offset_factor=1, scope=weights.scope)
        C = T.match_buffer(c, (rows, D), sums.dtype, offset_factor=1, scope=sums.scope)
        with T.sblock("root"):
            T.reads(C[0:rows, 0:D], A[0:span, 0:K], B[0:K, 0:D])
            T.writes(C[0:rows, 0:D])
            for i, j, k in T.grid(rows, D, K):
                with T.sblock("mac"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi * row_step, vk], sums.dtype) * T.cast(
                        B[vk, vj], sums.dtype
                    )

    # Tensorizing drops the iterator of a loop that runs once, so one row needs its own form.
    @T.prim_func(s_tir=True)
    def one_row(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (1, K), inputs.dtype, offset_factor=1, scope=inputs.scope)
        B = T.match_buffer(b, (K, D), weights.dtype, offset_factor=1, scope=weights.scope)
        C = T.match_buffer(c, (1, D), sums.dtype, offset_factor=1, scope=sums.scope)
        with T.sblock("root"):
            T.reads(C[0, 0:D], A[0, 0:K], B[0:K, 0:D])
            T.writes(C[0, 0:D])
            for _, j, k in T.grid(1, D, K):
                with T.sblock("mac"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    C[0, vj] = C[0, vj] + T.cast(A[0, vk], sums.dtype) * T.cast(
                        B[vk, vj], sums.dtype
                    )

    @T.prim_func(s_tir=True)
    def implementation(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (span, K), inputs.dtype, offset_factor=1, scope=inputs.scope)
        B = T.match_buffer(b, (K, D), weights.dtype, offset_factor=1, scope=weights.scope)
        C = T.match_buffer(c, (rows, D), sums.dtype, offset_factor=1, scope=sums.scope)
        with T.sblock("root"):
            T.reads(C[0:rows, 0:D], A[0:span, 0:K], B[0:K, 0:D])
            T.writes(C[0:rows, 0:D])
            T.evaluate(
                T.call_extern(
                    "int32",
                    call,
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


def operand_scopes(name: str) -> tuple[str, ...]:
    """The storage scopes of the operands of a tensor intrinsic, by its description."""
    return tuple(str(operand.scope()) for operand in TensorIntrin.get(name).desc.params)
