"""conv2d of small images: the lines of the output are joined, so that a step of the array takes
pixels of several lines.

Lines of 7 pixels leave more than half of a 16-row step empty, and steps that short wait for the
array's queues.  Here a tile holds a copy of the image for each column of the kernel, as
the pixels that meet it: without padding between the lines, so the rows of one line follow those
of the line before.  With a vertical stride, every row of the kernel has a copy as well.

The pixels are always taken whole: TVM does not find the part of a copy that a part of the pixels
needs, since the rows of a copy are two loops in one dimension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from ... import script
from ...device import DeviceConfig
from ...intrin import gemm_intrinsic, most_step_rows
from ..arguments import drop_argument
from ..blocking import LEAST_STEP_ROWS, ceil_div, even_steps

if TYPE_CHECKING:
    from .operator import Conv2d

# What joining has to save at least: it loads an image more than once.
_WORTH = 0.95


def takes_joined(operator: Conv2d, config: DeviceConfig) -> bool:
    """Whether an operator's lines are so short that joining them pays, and its image so small
    that its copies fit."""
    window, dim = operator.window, config.dim
    steps = window.steps(config)
    separate = (window.out_h * steps.number - 1) * max(steps.rows, LEAST_STEP_ROWS) + dim
    pixels = window.out_h * window.out_w
    # Two tiles of one block of channels take at most half of the memories.
    a_rows, b_rows = image_rows(operator), operator.kh * operator.kw * dim
    memories = config.memories
    return (
        max(pixels, dim) < _WORTH * separate
        and 4 * a_rows <= memories.inputs.rows
        and 4 * b_rows <= memories.weights.rows
        and 4 * pixels <= memories.sums.rows
    )


def image_rows(operator: Conv2d) -> int:
    """Rows of one block of input channels."""
    copies, lines = _copies(operator)
    return operator.kw * copies * lines * operator.window.out_w


def image_pixels(operator: Conv2d) -> int:
    """Of these rows, how many hold pixels of the image: the others pad it."""
    window = operator.window
    (down, right), (top, left, _, _) = window.strides, window.pad
    copies, lines = _copies(operator)
    return _inside(window.h, copies, lines, down, top) * _inside(
        window.w, window.kw, window.out_w, right, left
    )


def _inside(size: int, copies: int, number: int, stride: int, before: int) -> int:
    """Of so many elements in each copy, how many are of a dimension of an image."""
    return sum(
        0 <= copy + i * stride - before < size for copy in range(copies) for i in range(number)
    )


def _copies(operator: Conv2d) -> tuple[int, int]:
    """Copies of the image for each column of the kernel, and the lines of one."""
    out_h = operator.window.out_h
    return (1, out_h + operator.kh - 1) if operator.strides[0] == 1 else (operator.kh, out_h)


def joined_prim_func(operator: Conv2d, config: DeviceConfig) -> PrimFunc:
    """The definition."""
    D = config.dim
    N, H, W, C, CO = operator.n, operator.h, operator.w, operator.ci, operator.co
    KH, KW, (SH, SW), (PT, PL, _, _) = operator.kh, operator.kw, operator.strides, operator.pad
    OH, OW = operator.window.out_h, operator.window.out_w
    steps = even_steps(OH * OW, most_step_rows(config))
    P = OH * OW
    R, LINES = _copies(operator)
    # Which copy the next kernel row takes, and how many rows further on.
    RS, DOWN = (0, OW) if SH == 1 else (1, 0)
    CB, OB = ceil_div(C, D), ceil_div(CO, D)
    stored, out_type = operator.output.expression(config), operator.output.dtype
    has_bias, fill = operator.bias, operator.window.fill
    intrinsics = {"mac": gemm_intrinsic(config, steps.rows)}
    roles = "batch blocks joined lane kernel_h kernel_w depth depth_lane"
    loops = {"mac": roles.split()}

    def initial(bias, o):
        return T.if_then_else(o < CO, bias[o], 0) if has_bias else T.int32(0)

    @script.prim_func(s_tir=True)
    def conv2d(
        x: T.Buffer((N, H, W, C), "int8"),
        weight: T.Buffer((KH, KW, C, CO), "int8"),
        bias: T.Buffer((CO,), "int32"),
        out: T.Buffer((N, OH, OW, CO), out_type),
    ):
        T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
        with T.sblock("root"):
            a = T.sblock_alloc_buffer((N, CB, R, KW, LINES * OW, D), "int8")
            b = T.sblock_alloc_buffer((KH, KW, CB, OB, D, D), "int8")
            acc = T.sblock_alloc_buffer((N, OB, P, D), "int32")
            for n, cb, r, j, y, xx, c in T.grid(N, CB, R, KW, LINES, OW, D):
                with T.sblock("load_a"):
                    vn, vcb, vr, vj, vy, vx, vc = T.axis.remap("SSSSSSS", [n, cb, r, j, y, xx, c])
                    a[vn, vcb, vr, vj, vy * OW + vx, vc] = T.if_then_else(
                        vy * SH + vr >= PT
                        and vy * SH + vr < H + PT
                        and vx * SW + vj >= PL
                        and vx * SW + vj < W + PL
                        and vcb * D + vc < C,
                        x[vn, vy * SH + vr - PT, vx * SW + vj - PL, vcb * D + vc],
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
            for n, ob, p, o, i, j, cb, c in T.grid(N, OB, P, D, KH, KW, CB, D):
                with T.sblock("mac"):
                    vn, vob, vp, vo, vi, vj, vcb, vc = T.axis.remap(
                        "SSSSRRRR", [n, ob, p, o, i, j, cb, c]
                    )
                    T.reads(
                        a[vn, vcb, vi * RS, vj, vp + vi * DOWN, vc], b[vi, vj, vcb, vob, vc, vo]
                    )
                    T.writes(acc[vn, vob, vp, vo])
                    with T.init():
                        acc[vn, vob, vp, vo] = initial(bias, vob * D + vo)
                    acc[vn, vob, vp, vo] += T.cast(
                        a[vn, vcb, vi * RS, vj, vp + vi * DOWN, vc], "int32"
                    ) * T.cast(b[vi, vj, vcb, vob, vc, vo], "int32")
            for n, ob, p, o in T.grid(N, OB, P, D):
                with T.sblock("store"):
                    vn, vob, vp, vo = T.axis.remap("SSSS", [n, ob, p, o])
                    T.reads(acc[vn, vob, vp, vo])
                    T.writes(out[vn, vp // OW, vp % OW, vob * D + vo])
                    if vob * D + vo < CO:
                        out[vn, vp // OW, vp % OW, vob * D + vo] = stored(acc[vn, vob, vp, vo], vob)

    return conv2d if has_bias else drop_argument(conv2d, "bias")
