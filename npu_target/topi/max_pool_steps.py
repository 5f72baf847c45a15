"""Max pooling by the device's steps, where its stores pool nothing.

An element goes to the memory of sums through the step that multiplies, by an identity matrix, since
what is loaded there may have to be sums already. One place of all windows after the other comes so,
and is one more step into their maxima, which begin with the least element there is.

An image that went there as a whole would be less to multiply where windows overlap, but would have
to be computed anew where tiles do; and a window's rows in it do not follow the ones of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from .. import script
from ..device import DeviceConfig, kind_of
from ..intrin import fill_intrinsic, gemm_intrinsic, max_intrinsic
from .blocking import ceil_div
from .operator import OperatorError

if TYPE_CHECKING:
    from .max_pool2d import MaxPool2d


def n_matrices(channels: int, dim: int) -> int:
    """How many identity matrices there are: one, or one for each block of channels where the last
    block is not whole. Columns of an image past the last channel are not loaded, so that rows of
    zeros have to meet them."""
    return ceil_div(channels, dim) if channels % dim else 1


def stepped_prim_func(operator: MaxPool2d, config: DeviceConfig) -> PrimFunc:
    """The definition; an argument more, ``identity``, is int8 ``[dim, dim]``.

    Raises
    ------
    OperatorError
        for an operator whose identity matrix is another device's.
    """
    D = config.dim
    if operator.dim != D:
        raise OperatorError(f"{operator.name}: identity of side {operator.dim}, device has {D}")
    numbers = kind_of(config).numbers
    requantize, least = numbers.rule.expression, numbers.least_element
    N, H, W, C = operator.n, operator.h, operator.w, operator.c
    S, (PT, PL, _, _), size = operator.stride, operator.pad, operator.size
    fill = operator.window.fill
    OH, OW = operator.window.out_h, operator.window.out_w
    steps = operator.window.steps(config)
    XP = steps.padded
    HP, WP = (OH - 1) * S + size, (XP - 1) * S + size
    CB = ceil_div(C, D)
    WB = n_matrices(C, D)
    intrinsics = {
        "mac": gemm_intrinsic(config, steps.rows, S),
        "max": max_intrinsic(config),
        "fill": fill_intrinsic(config, least),
    }

    def matrix_of(block):
        return block if WB > 1 else 0

    def of_matrix(identity, block, row, column):
        element = identity[row, column]
        return T.if_then_else(block * D + row < C, element, T.int8(0)) if C % D else element

    @script.prim_func(s_tir=True)
    def max_pool2d(
        x: T.Buffer((N, H, W, C), "int8"),
        identity: T.Buffer((D, D), "int8"),
        out: T.Buffer((N, OH, OW, C), "int8"),
    ):
        T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics})
        with T.sblock("root"):
            a = T.sblock_alloc_buffer((N, CB, HP, WP, D), "int8")
            b = T.sblock_alloc_buffer((WB, D, D), "int8")
            part = T.sblock_alloc_buffer((N, CB, size, size, OH, XP, D), "int32")
            acc = T.sblock_alloc_buffer((N, CB, OH, XP, D), "int32")
            for n, cb, h, w, c in T.grid(N, CB, HP, WP, D):
                with T.sblock("load_a"):
                    vn, vcb, vh, vw, vc = T.axis.remap("SSSSS", [n, cb, h, w, c])
                    a[vn, vcb, vh, vw, vc] = T.if_then_else(
                        vh >= PT and vh < H + PT and vw >= PL and vw < W + PL and vcb * D + vc < C,
                        x[vn, vh - PT, vw - PL, vcb * D + vc],
                        T.int8(fill),
                    )
            for wb, c, o in T.grid(WB, D, D):
                with T.sblock("load_b"):
                    vwb, vc, vo = T.axis.remap("SSS", [wb, c, o])
                    b[vwb, vc, vo] = of_matrix(identity, vwb, vc, vo)
            for n, cb, i, j, y, xx, o, c in T.grid(N, CB, size, size, OH, XP, D, D):
                with T.sblock("mac"):
                    vn, vcb, vi, vj, vy, vx, vo, vc = T.axis.remap(
                        "SSSSSSSR", [n, cb, i, j, y, xx, o, c]
                    )
                    T.reads(a[vn, vcb, vy * S + vi, vx * S + vj, vc], b[matrix_of(vcb), vc, vo])
                    T.writes(part[vn, vcb, vi, vj, vy, vx, vo])
                    with T.init():
                        part[vn, vcb, vi, vj, vy, vx, vo] = T.int32(0)
                    part[vn, vcb, vi, vj, vy, vx, vo] += T.cast(
                        a[vn, vcb, vy * S + vi, vx * S + vj, vc], "int32"
                    ) * T.cast(b[matrix_of(vcb), vc, vo], "int32")
            for n, cb, y, xx, c, i, j in T.grid(N, CB, OH, XP, D, size, size):
                with T.sblock("max"):
                    vn, vcb, vy, vx, vc, vi, vj = T.axis.remap("SSSSSRR", [n, cb, y, xx, c, i, j])
                    T.reads(part[vn, vcb, vi, vj, vy, vx, vc])
                    T.writes(acc[vn, vcb, vy, vx, vc])
                    with T.init():
                        acc[vn, vcb, vy, vx, vc] = T.int32(least)
                    acc[vn, vcb, vy, vx, vc] = T.max(
                        acc[vn, vcb, vy, vx, vc], part[vn, vcb, vi, vj, vy, vx, vc]
                    )
            for n, cb, y, xx, c in T.grid(N, CB, OH, XP, D):
                with T.sblock("store"):
                    vn, vcb, vy, vx, vc = T.axis.remap("SSSSS", [n, cb, y, xx, c])
                    T.reads(acc[vn, vcb, vy, vx, vc])
                    T.writes(out[vn, vy, vx, vcb * D + vc])
                    if vx < OW and vcb * D + vc < C:
                        out[vn, vy, vx, vcb * D + vc] = requantize(acc[vn, vcb, vy, vx, vc], 1.0)

    return max_pool2d
