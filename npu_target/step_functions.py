"""The functions of tensor intrinsics of an array's step, for any number of rows.

Parsing TVMScript takes some tens of milliseconds, filling in numbers less than a tenth of one: so
each function is parsed once, with its sizes left open. They are registered while TVM is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from . import script
from .device import Memories

if TYPE_CHECKING:
    from tvm.tirx import PrimFunc


class StepFunctions(NamedTuple):
    """What a step computes and what it becomes; the tensors are A, B and C."""

    description: PrimFunc
    implementation: PrimFunc


def step_functions(
    call: str, memories: Memories, sizes: tuple[int, int], rows: int, row_step: int
) -> StepFunctions:
    """``C[i, j] += A[i * row_step, k] * B[k, j]`` in the type of C.

    A is ``[(rows - 1) * row_step + 1, lanes]`` in the memory of inputs, B ``[lanes, columns]`` in
    that of weights, C ``[rows, columns]`` in that of sums, ``sizes`` being lanes and columns. The
    implementation calls the extern function ``call`` with addresses of the first elements of A, B
    and C, with ``rows`` and ``row_step``.
    """
    both = (memories.inputs, memories.weights, memories.sums)
    dtypes, scopes = (tuple(getattr(m, name) for m in both) for name in ("dtype", "scope"))
    many_rows, one_row, implementation = _open_functions(call, dtypes, scopes)
    span = (rows - 1) * row_step + 1
    # Tensorizing drops the iterator of a loop that runs once, so one row needs its own form.
    description = one_row if rows == 1 else many_rows
    return StepFunctions(
        _filled(description, [*sizes, rows, span, row_step][: len(description.params) - 3]),
        _filled(implementation, [*sizes, rows, span, row_step]),
    )


def _filled(func: PrimFunc, numbers: Sequence[int]) -> PrimFunc:
    """A function whose parameters after the tensors are these numbers."""
    return func.specialize(dict(zip(func.params[3:], numbers, strict=True)))


@cache
def _open_functions(
    call: str, dtypes: tuple[str, ...], scopes: tuple[str, ...]
) -> tuple[PrimFunc, PrimFunc, PrimFunc]:
    """The description for many rows, the one for one row, and the implementation."""
    # Here, since whoever imports this module may be what imports TVM.
    from tvm.script import tirx as T

    (a_dtype, b_dtype, c_dtype), (a_scope, b_scope, c_scope) = dtypes, scopes

    @script.prim_func(s_tir=True)
    def many_rows(
        a: T.handle,
        b: T.handle,
        c: T.handle,
        K: T.int32,
        D: T.int32,
        rows: T.int32,
        span: T.int32,
        row_step: T.int32,
    ) -> None:
        A = T.match_buffer(a, (span, K), a_dtype, offset_factor=1, scope=a_scope)
        B = T.match_buffer(b, (K, D), b_dtype, offset_factor=1, scope=b_scope)
        C = T.match_buffer(c, (rows, D), c_dtype, offset_factor=1, scope=c_scope)
        with T.sblock("root"):
            T.reads(C[0:rows, 0:D], A[0:span, 0:K], B[0:K, 0:D])
            T.writes(C[0:rows, 0:D])
            for i, j, k in T.grid(rows, D, K):
                with T.sblock("mac"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi * row_step, vk], c_dtype) * T.cast(
                        B[vk, vj], c_dtype
                    )

    @script.prim_func(s_tir=True)
    def one_row(a: T.handle, b: T.handle, c: T.handle, K: T.int32, D: T.int32) -> None:
        A = T.match_buffer(a, (1, K), a_dtype, offset_factor=1, scope=a_scope)
        B = T.match_buffer(b, (K, D), b_dtype, offset_factor=1, scope=b_scope)
        C = T.match_buffer(c, (1, D), c_dtype, offset_factor=1, scope=c_scope)
        with T.sblock("root"):
            T.reads(C[0, 0:D], A[0, 0:K], B[0:K, 0:D])
            T.writes(C[0, 0:D])
            for _, j, k in T.grid(1, D, K):
                with T.sblock("mac"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    C[0, vj] = C[0, vj] + T.cast(A[0, vk], c_dtype) * T.cast(B[vk, vj], c_dtype)

    @script.prim_func(s_tir=True)
    def implementation(
        a: T.handle,
        b: T.handle,
        c: T.handle,
        K: T.int32,
        D: T.int32,
        rows: T.int32,
        span: T.int32,
        row_step: T.int32,
    ) -> None:
        A = T.match_buffer(a, (span, K), a_dtype, offset_factor=1, scope=a_scope)
        B = T.match_buffer(b, (K, D), b_dtype, offset_factor=1, scope=b_scope)
        C = T.match_buffer(c, (rows, D), c_dtype, offset_factor=1, scope=c_scope)
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

    return many_rows, one_row, implementation
