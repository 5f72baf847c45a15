"""conv2d with an output pixel for each row of a step: any kernel, stride and padding.

The tiles' stages are blocked by the device's row (``dim`` channels), the pixels of an output line
by equal steps of at most ``dim``.  Padding exists in the index space only: the copy reads 0,
or another value, outside the image, and becomes writes of it on the device.  The columns of a row
past the last channel are never observed: the weights' rows are 0 there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from ... import script
from ...device import DeviceConfig
from ...intrin import gemm_intrinsic
from ..arguments import drop_argument
from ..blocking import ceil_div

if TYPE_CHECKING:
    from .operator import Conv2d


def pixel_prim_func(operator: Conv2d, config: DeviceConfig) -> PrimFunc:
    """The definition."""
    D = config.dim
    N, H, W, C, CO = operator.n, operator.h, operator.w, operator.ci, operator.co
    KH, KW, (SH, SW), (PT, PL, _, _) = operator.kh, operator.kw, operator.strides, operator.pad
    OH, OW = operator.window.out_h, operator.window.out_w
    steps = operator.window.steps(config)
    XP = steps.padded
    # Pixels that a kernel of one row or column steps over are not loaded: what remains of the
    # stride is within the tile (AH, AW), the rest where it is loaded (LH, LW).
    AH, AW = operator.tile_strides
    LH, LW = SH // AH, SW // AW
    HP, WP = (OH - 1) * AH + KH, (XP - 1) * AW + KW
    CB, OB = ceil_div(C, D), ceil_div(CO, D)
    stored, out_type = operator.output.expression(config), operator.output.dtype
    has_bias, fill = operator.bias, operator.window.fill
    intrinsics = {"mac": gemm_intrinsic(config, steps.rows, AW)}
    loops = {
        "mac": [
            "batch",
            "blocks",
            "lines",
            "pixels",
            "lane",
            "kernel_h",
            "kernel_w",
            "depth",
            "depth_lane",
        ]
    }

    def initial(bias, o):
        return T.if_then_else(o < CO, bias[o], 0) if has_bias else T.int32(0)

    # The bias is read where the accumulator starts.  It stays out of the block's read
    # regions, since the array's own step, which the tensor intrinsic describes, has none.
    @script.prim_func(s_tir=True)
    def conv2d(
        x: T.Buffer((N, H, W, C), "int8"),
        weight: T.Buffer((KH, KW, C, CO), "int8"),
        bias: T.Buffer((CO,), "int32"),
        out: T.Buffer((N, OH, OW, CO), out_type),
    ):
        T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
        with T.sblock("root"):
            a = T.sblock_alloc_buffer((N, CB, HP, WP, D), "int8")
            b = T.sblock_alloc_buffer((KH, KW, CB, OB, D, D), "int8")
            acc = T.sblock_alloc_buffer((N, OB, OH, XP, D), "int32")
            for n, cb, h, w, c in T.grid(N, CB, HP, WP, D):
                with T.sblock("load_a"):
                    vn, vcb, vh, vw, vc = T.axis.remap("SSSSS", [n, cb, h, w, c])
                    a[vn, vcb, vh, vw, vc] = T.if_then_else(
                        vh * LH >= PT
                        and vh * LH < H + PT
                        and vw * LW >= PL
                        and vw * LW < W + PL
                        and vcb * D + vc < C,
                        x[vn, vh * LH - PT, vw * LW - PL, vcb * D + vc],
                        T.int8(fill),
                    )
            for i, j, cb, ob, c, o in T.grid(KH, KW, CB, OB, D, D):
                with T.sblock("load_b"):
                    vi, vj, vcb, vob, vc, vo = T.axis.remap("SSSSSS", [i, j, cb, ob, c, o])
                    b[vi, vj, vcb, vob, vc, vo] = T.if_then_else(
                        vcb * D + vc < C and vob * D + vo < CO,
                        weight[vi, vj, vcb * D + vc, vob * D + vo],
                        T.int8(0),
                    )
            for n, ob, y, xx, o, i, j, cb, c in T.grid(N, OB, OH, XP, D, KH, KW, CB, D):
                with T.sblock("mac"):
                    vn, vob, vy, vx, vo, vi, vj, vcb, vc = T.axis.remap(
                        "SSSSSRRRR", [n, ob, y, xx, o, i, j, cb, c]
                    )
                    T.reads(a[vn, vcb, vy * AH + vi, vx * AW + vj, vc], b[vi, vj, vcb, vob, vc, vo])
                    T.writes(acc[vn, vob, vy, vx, vo])
                    with T.init():
                        acc[vn, vob, vy, vx, vo] = initial(bias, vob * D + vo)
                    acc[vn, vob, vy, vx, vo] += T.cast(
                        a[vn, vcb, vy * AH + vi, vx * AW + vj, vc], "int32"
                    ) * T.cast(b[vi, vj, vcb, vob, vc, vo], "int32")
            for n, ob, y, xx, o in T.grid(N, OB, OH, XP, D):
                with T.sblock("store"):
                    vn, vob, vy, vx, vo = T.axis.remap("SSSSS", [n, ob, y, xx, o])
                    T.reads(acc[vn, vob, vy, vx, vo])
                    T.writes(out[vn, vy, vx, vob * D + vo])
                    if vx < OW and vob * D + vo < CO:
                        out[vn, vy, vx, vob * D + vo] = stored(acc[vn, vob, vy, vx, vo], vob)

    return conv2d if has_bias else drop_argument(conv2d, "bias")
