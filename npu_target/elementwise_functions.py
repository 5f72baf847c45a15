"""The functions of tensor intrinsics of steps on rows of sums, for one row.

Rows that follow each other are steps of several rows to the device, however they were tensorized
(:mod:`npu_target.codegen.steps`): so a definition takes them one by one, whatever its tiles are.
They are registered while TVM is imported.
"""

from __future__ import annotations

from . import script
from .device import Memory
from .step_functions import StepFunctions


def max_functions(call: str, sums: Memory) -> StepFunctions:
    """``C[0, j] = max(C[0, j], A[0, j])``, both ``[1, columns]`` in the memory of sums.

    The implementation calls the extern function ``call`` with addresses of the first elements of C
    and A, and with 1.
    """
    # Here, since whoever imports this module may be what imports TVM.
    from tvm.script import tirx as T

    columns, dtype, scope = sums.columns, sums.dtype, sums.scope

    @script.prim_func(s_tir=True)
    def description(c: T.handle, a: T.handle) -> None:
        C = T.match_buffer(c, (1, columns), dtype, offset_factor=1, scope=scope)
        A = T.match_buffer(a, (1, columns), dtype, offset_factor=1, scope=scope)
        with T.sblock("root"):
            T.reads(C[0, 0:columns], A[0, 0:columns])
            T.writes(C[0, 0:columns])
            for _, j in T.grid(1, columns):
                with T.sblock("max"):
                    vj = T.axis.spatial(columns, j)
                    C[0, vj] = T.max(C[0, vj], A[0, vj])

    @script.prim_func(s_tir=True)
    def implementation(c: T.handle, a: T.handle) -> None:
        C = T.match_buffer(c, (1, columns), dtype, offset_factor=1, scope=scope)
        A = T.match_buffer(a, (1, columns), dtype, offset_factor=1, scope=scope)
        with T.sblock("root"):
            T.reads(C[0, 0:columns], A[0, 0:columns])
            T.writes(C[0, 0:columns])
            T.evaluate(
                T.call_extern("int32", call, T.address_of(C[0, 0]), T.address_of(A[0, 0]), 1)
            )

    return StepFunctions(description, implementation)


def fill_functions(call: str, sums: Memory, value: int) -> StepFunctions:
    """``C[0, j] = value``, ``[1, columns]`` in the memory of sums.

    The implementation calls the extern function ``call`` with the address of the first element,
    with 1 and ``value``.
    """
    from tvm.script import tirx as T

    columns, dtype, scope = sums.columns, sums.dtype, sums.scope

    @script.prim_func(s_tir=True)
    def description(c: T.handle) -> None:
        C = T.match_buffer(c, (1, columns), dtype, offset_factor=1, scope=scope)
        with T.sblock("root"):
            T.reads()
            T.writes(C[0, 0:columns])
            for _, j in T.grid(1, columns):
                with T.sblock("fill"):
                    vj = T.axis.spatial(columns, j)
                    C[0, vj] = T.Cast(dtype, value)

    @script.prim_func(s_tir=True)
    def implementation(c: T.handle) -> None:
        C = T.match_buffer(c, (1, columns), dtype, offset_factor=1, scope=scope)
        with T.sblock("root"):
            T.reads()
            T.writes(C[0, 0:columns])
            T.evaluate(T.call_extern("int32", call, T.address_of(C[0, 0]), 1, value))

    return StepFunctions(description, implementation)
