"""conv2d: int8 NHWC x HWIO -> int32 -> requantize -> int8, any kernel, stride and padding.

The scratchpad stages are blocked by the device's row (``dim`` channels), the pixels of an
output line by equal steps of at most ``dim``.  Padding exists in the index space only: the
copy reads 0 outside the image, and becomes zero writes on the device.  The columns of a
scratchpad row past the last channel are never observed: the weights' rows are 0 there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from ..intrin import gemm_intrinsic
from .arguments import drop_argument
from .blocking import Steps, balanced_steps, ceil_div
from .joined_conv2d import joined_prim_func, takes_joined
from .operator import (
    CANONICAL_SCALE,
    Arg,
    Operator,
    OperatorError,
    require_finite,
    require_positive,
)
from .requantize import requantize
from .window_conv2d import takes_windows, window_prim_func

# A step's inputs span at most this part of the scratchpad.
_STEP_SHARE = 4


@dataclass(frozen=True)
class Window:
    """A sliding window over an image: what conv2d, depthwise conv2d and pooling share."""

    h: int
    w: int
    kh: int
    kw: int
    strides: tuple[int, int]
    pad: tuple[int, int, int, int]  # top, left, bottom, right

    def check(self, owner: str) -> None:
        """Raise :class:`OperatorError` if no output pixel exists or a number is senseless."""
        for name, value, parts in (
            ("strides", self.strides, "h, w"),
            ("pad", self.pad, "top, left, bottom, right"),
        ):
            if len(value) != len(parts.split(", ")):
                raise OperatorError(f"{owner}: {name} must be ({parts}), got {value}")
        require_positive(owner, h=self.h, w=self.w, kh=self.kh, kw=self.kw)
        require_positive(owner, stride_h=self.strides[0], stride_w=self.strides[1])
        if min(self.pad) < 0:
            raise OperatorError(f"{owner}: padding must not be negative, got {self.pad}")
        if self.out_h < 1 or self.out_w < 1:
            raise OperatorError(
                f"{owner}: a {self.kh}x{self.kw} window does not fit the padded image of "
                f"{self.h + self.pad[0] + self.pad[2]}x{self.w + self.pad[1] + self.pad[3]}"
            )

    @property
    def out_h(self) -> int:
        """Output lines."""
        return (self.h + self.pad[0] + self.pad[2] - self.kh) // self.strides[0] + 1

    @property
    def out_w(self) -> int:
        """Output pixels a line."""
        return (self.w + self.pad[1] + self.pad[3] - self.kw) // self.strides[1] + 1

    def steps(self, config: DeviceConfig) -> Steps:
        """The pixels of an output line in steps of the array.

        A step takes its inputs from rows of one tile, strides apart, so steps are shorter where
        the stride is so large that they would not leave room for other tiles.
        """
        farthest = config.spad_rows // _STEP_SHARE
        return balanced_steps(self.out_w, min(config.dim, max(1, farthest // self.strides[1])))

    @property
    def label(self) -> str:
        """The part of an operator's name that says the window."""
        kernel = f"k{self.kh}" if self.kh == self.kw else f"k{self.kh}x{self.kw}"
        stride = "x".join(str(s) for s in dict.fromkeys(self.strides))
        pad = "_".join(str(p) for p in (self.pad if len(set(self.pad)) > 1 else self.pad[:1]))
        return f"{kernel}_s{stride}_p{pad}"


@dataclass(frozen=True)
class Conv2d(Operator):
    """``out[n,y,x,o] = requantize(bias[o] + sum x[n,y*sh+i-t,x*sw+j-l,c] * weight[i,j,c,o])``."""

    op: ClassVar[str] = "conv2d"

    n: int
    h: int
    w: int
    ci: int
    co: int
    kh: int
    kw: int
    strides: tuple[int, int] = (1, 1)
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    bias: bool = True
    relu: bool = False
    scale: float = CANONICAL_SCALE
    # Windows instead of pixels in the rows of the scratchpad: see `window_conv2d`.
    windows: bool = False

    def __post_init__(self) -> None:
        require_positive("conv2d", n=self.n, ci=self.ci, co=self.co)
        self.window.check("conv2d")
        require_finite("conv2d", scale=self.scale)

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(self.h, self.w, self.kh, self.kw, self.strides, self.pad)

    @property
    def tile_strides(self) -> tuple[int, int]:
        """How far apart neighbouring outputs' inputs are in a tile: all of the stride, or 1 along
        a dimension in which the kernel has a single position."""
        sh, sw = self.strides
        return (1 if self.kh == 1 else sh), (1 if self.kw == 1 else sw)

    @property
    def args(self) -> tuple[Arg, ...]:
        win = self.window
        bias = (Arg("bias", "input", "int32", (self.co,)),) if self.bias else ()
        pixels: tuple[int, ...] = (self.w, self.ci)
        kernel_row: tuple[int, ...] = (self.kw, self.ci)
        if self.windows:  # a line, and a row of the kernel, as neighbouring bytes
            pixels, kernel_row = (self.w * self.ci,), (self.kw * self.ci,)
        return (
            Arg("x", "input", "int8", (self.n, self.h, *pixels)),
            Arg("weight", "input", "int8", (self.kh, *kernel_row, self.co)),
            *bias,
            Arg("out", "output", "int8", (self.n, win.out_h, win.out_w, self.co)),
        )

    @property
    def macs(self) -> int:
        win = self.window
        return self.n * win.out_h * win.out_w * self.co * self.kh * self.kw * self.ci

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        bias = "" if self.bias else "_nobias"
        return f"conv2d_{batch}{self.h}x{self.w}x{self.ci}_{self.co}_{self.window.label}{bias}"

    @property
    def layout_free(self) -> tuple[str, ...]:
        return () if self.windows else ("weight",)  # windows at edges take parts of a tile

    def canonical(self) -> Conv2d:
        return replace(self.kernel(), relu=False, scale=CANONICAL_SCALE)

    def kernel(self) -> Conv2d:
        if (self.kh, self.kw, *self.strides, *self.pad) == (1, 1, 1, 1, 0, 0, 0, 0):
            # Pixels of different lines are as good as neighbours: steps need not end at a line.
            return replace(self, h=1, w=self.h * self.w)
        return replace(self, windows=takes_windows(self))

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        if self.windows:
            return window_prim_func(self, config)
        if takes_joined(self, config):
            return joined_prim_func(self, config)
        D = config.dim
        N, H, W, C, CO = self.n, self.h, self.w, self.ci, self.co
        KH, KW, (SH, SW), (PT, PL, _, _) = self.kh, self.kw, self.strides, self.pad
        OH, OW = self.window.out_h, self.window.out_w
        steps = self.window.steps(config)
        XP = steps.padded
        # Pixels that a kernel of one row or column steps over are not loaded: what remains of the
        # stride is within the tile (AH, AW), the rest where it is loaded (LH, LW).
        AH, AW = self.tile_strides
        LH, LW = SH // AH, SW // AW
        HP, WP = (OH - 1) * AH + KH, (XP - 1) * AW + KW
        CB, OB = ceil_div(C, D), ceil_div(CO, D)
        scale, relu, has_bias = self.scale, self.relu, self.bias
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
        @T.prim_func(s_tir=True)
        def conv2d(
            x: T.Buffer((N, H, W, C), "int8"),
            weight: T.Buffer((KH, KW, C, CO), "int8"),
            bias: T.Buffer((CO,), "int32"),
            out: T.Buffer((N, OH, OW, CO), "int8"),
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
                            T.int8(0),
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
                        T.reads(
                            a[vn, vcb, vy * AH + vi, vx * AW + vj, vc], b[vi, vj, vcb, vob, vc, vo]
                        )
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
                            out[vn, vy, vx, vob * D + vo] = requantize(
                                acc[vn, vob, vy, vx, vo], scale, relu
                            )

        return conv2d if has_bias else drop_argument(conv2d, "bias")
