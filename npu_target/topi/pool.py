"""Pooling: maximum over windows as the store unit does it, and the global average."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tvm import tirx
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from ..intrin import gemm_intrinsic
from .blocking import ceil_div
from .conv2d import Window
from .operator import (
    CANONICAL_SCALE,
    Arg,
    Operator,
    OperatorError,
    require_finite,
    require_positive,
)
from .requantize import requantize

# Two bits each in the store configuration, and 0 switches pooling off.
MAX_WINDOW = MAX_STRIDE = 3


@dataclass(frozen=True)
class MaxPool2d(Operator):
    """``out[n,y,x,c] = max x[n, y*s+i-t, x*s+j-l, c]``, padding counting as 0 (square windows).

    The image passes through the accumulator: a store that pools rows of the scratchpad is ordered
    behind the load of the first of them only, one that pools the accumulator behind all.
    """

    op: ClassVar[str] = "max_pool2d"

    n: int
    h: int
    w: int
    c: int
    size: int
    stride: int
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        require_positive("max_pool2d", n=self.n, c=self.c)
        self.window.check("max_pool2d")
        for name, value, limit in (
            ("size", self.size, MAX_WINDOW),
            ("stride", self.stride, MAX_STRIDE),
        ):
            if value > limit:
                raise OperatorError(f"max_pool2d: {name} is {value}, the store unit takes {limit}")

    @property
    def window(self) -> Window:
        """The sliding window."""
        return Window(self.h, self.w, self.size, self.size, (self.stride, self.stride), self.pad)

    @property
    def args(self) -> tuple[Arg, ...]:
        win = self.window
        return (
            Arg("x", "input", "int8", (self.n, self.h, self.w, self.c)),
            Arg("out", "output", "int8", (self.n, win.out_h, win.out_w, self.c)),
        )

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        return f"max_pool2d_{batch}{self.h}x{self.w}x{self.c}_{self.window.label}"

    def canonical(self) -> MaxPool2d:
        return self

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        D = config.dim
        N, H, W, C = self.n, self.h, self.w, self.c
        S, (PT, PL, _, _), size = self.stride, self.pad, self.size
        OH, OW = self.window.out_h, self.window.out_w
        HP, WP = (OH - 1) * S + size, (OW - 1) * S + size
        CB = ceil_div(C, D)

        def window_maximum(a, n, cb, y, x, c):
            result = None
            for i in range(size):
                for j in range(size):
                    element = a[n, cb, y * S + i, x * S + j, c]
                    result = element if result is None else tirx.Max(result, element)
            return result

        @T.prim_func(s_tir=True)
        def max_pool2d(
            x: T.Buffer((N, H, W, C), "int8"),
            out: T.Buffer((N, OH, OW, C), "int8"),
        ):
            T.func_attr({"tirx.noalias": True})
            with T.sblock("root"):
                a = T.sblock_alloc_buffer((N, CB, HP, WP, D), "int32")
                for n, cb, h, w, c in T.grid(N, CB, HP, WP, D):
                    with T.sblock("load_a"):
                        vn, vcb, vh, vw, vc = T.axis.remap("SSSSS", [n, cb, h, w, c])
                        a[vn, vcb, vh, vw, vc] = T.if_then_else(
                            vh >= PT
                            and vh < H + PT
                            and vw >= PL
                            and vw < W + PL
                            and vcb * D + vc < C,
                            T.cast(x[vn, vh - PT, vw - PL, vcb * D + vc], "int32"),
                            0,
                        )
                for n, cb, y, xx, c in T.grid(N, CB, OH, OW, D):
                    with T.sblock("store"):
                        vn, vcb, vy, vx, vc = T.axis.remap("SSSSS", [n, cb, y, xx, c])
                        T.reads(a[vn, vcb, vy * S : vy * S + size, vx * S : vx * S + size, vc])
                        T.writes(out[vn, vy, vx, vcb * D + vc])
                        if vcb * D + vc < C:
                            out[vn, vy, vx, vcb * D + vc] = requantize(
                                window_maximum(a, vn, vcb, vy, vx, vc), 1.0
                            )

        return max_pool2d


@dataclass(frozen=True)
class GlobalAvgPool(Operator):
    """``out[n,c] = requantize(sum_hw x[n,h,w,c])``; the mean's divisor is part of the scale.

    The array sums: a row of ``ones`` times blocks of ``dim`` pixels.  Loads that accumulate would
    as well, but two loads of the same row may overtake each other.
    """

    op: ClassVar[str] = "global_avg_pool"

    n: int
    h: int
    w: int
    c: int
    dim: int  # of the row of ones: the device's array side
    scale: float = CANONICAL_SCALE

    def __post_init__(self) -> None:
        require_positive("global_avg_pool", n=self.n, h=self.h, w=self.w, c=self.c, dim=self.dim)
        require_finite("global_avg_pool", scale=self.scale)

    @property
    def args(self) -> tuple[Arg, ...]:
        return (
            Arg("x", "input", "int8", (self.n, self.h * self.w, self.c)),
            Arg("ones", "input", "int8", (self.dim,)),
            Arg("out", "output", "int8", (self.n, self.c)),
        )

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        return f"global_avg_pool_{batch}{self.h}x{self.w}x{self.c}"

    def canonical(self) -> GlobalAvgPool:
        return replace(self, scale=CANONICAL_SCALE)

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        D = config.dim
        if self.dim != D:
            raise ValueError(f"{self.name}: ones laid out for dim {self.dim}, device has {D}")
        N, P, C, scale = self.n, self.h * self.w, self.c, self.scale
        KB, CB = ceil_div(P, D), ceil_div(C, D)
        intrinsics = {"mac": gemm_intrinsic(config, 1)}
        loops = {"mac": ["batch", "blocks", "pixels", "lane", "depth", "depth_lane"]}

        @T.prim_func(s_tir=True)
        def global_avg_pool(
            x: T.Buffer((N, P, C), "int8"),
            ones: T.Buffer((D,), "int8"),
            out: T.Buffer((N, C), "int8"),
        ):
            T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
            with T.sblock("root"):
                ones_row = T.sblock_alloc_buffer((1, D), "int8")
                x_rows = T.sblock_alloc_buffer((N, KB, CB, D, D), "int8")
                acc = T.sblock_alloc_buffer((N, CB, 1, D), "int32")
                for i, k in T.grid(1, D):
                    with T.sblock("load_a"):
                        vi, vk = T.axis.remap("SS", [i, k])
                        ones_row[vi, vk] = ones[vk]
                for n, kb, cb, k, c in T.grid(N, KB, CB, D, D):
                    with T.sblock("load_b"):
                        vn, vkb, vcb, vk, vc = T.axis.remap("SSSSS", [n, kb, cb, k, c])
                        x_rows[vn, vkb, vcb, vk, vc] = T.if_then_else(
                            vkb * D + vk < P and vcb * D + vc < C,
                            x[vn, vkb * D + vk, vcb * D + vc],
                            T.int8(0),
                        )
                for n, cb, i, c, kb, k in T.grid(N, CB, 1, D, KB, D):
                    with T.sblock("mac"):
                        vn, vcb, vi, vc, vkb, vk = T.axis.remap("SSSSRR", [n, cb, i, c, kb, k])
                        T.reads(ones_row[vi, vk], x_rows[vn, vkb, vcb, vk, vc])
                        T.writes(acc[vn, vcb, vi, vc])
                        with T.init():
                            acc[vn, vcb, vi, vc] = T.int32(0)
                        acc[vn, vcb, vi, vc] += T.cast(ones_row[vi, vk], "int32") * T.cast(
                            x_rows[vn, vkb, vcb, vk, vc], "int32"
                        )
                for n, cb, i, c in T.grid(N, CB, 1, D):
                    with T.sblock("store"):
                        vn, vcb, vi, vc = T.axis.remap("SSSS", [n, cb, i, c])
                        T.reads(acc[vn, vcb, vi, vc])
                        T.writes(out[vn, vcb * D + vc])
                        if vcb * D + vc < C:
                            out[vn, vcb * D + vc] = requantize(acc[vn, vcb, vi, vc], scale, False)

        return global_avg_pool
