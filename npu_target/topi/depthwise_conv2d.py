"""depthwise conv2d on a matrix array: each block of ``dim`` channels times a diagonal matrix.

The array has no depthwise mode worth using (one column of weights at a time), but a ``dim x
dim`` diagonal of weights keeps all its columns busy: one step a kernel position and channel
block.  The diagonals are laid out at compile time by :func:`depthwise_diagonal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from .. import script
from ..device import DeviceConfig
from ..device.numbers import Numbers
from ..intrin import gemm_intrinsic
from .arguments import drop_argument
from .blocking import ceil_div, rounded_up
from .convolution import Convolution
from .convolution_operator import ConvolutionOperator
from .mac_operator import WHOLE_DEPTH, with_sums, wrapped_sums
from .mac_shape import MacShape, Tensor
from .mac_structure import MacStructure
from .operator import (
    CANONICAL_SCALE,
    Arg,
    Arrays,
    OperatorError,
    require_positive,
)
from .output import ChannelScale
from .pattern import Accepted, Match
from .registry import register_operator
from .window import with_pad_value


def depthwise_diagonal(weight: np.ndarray, dim: int) -> np.ndarray:
    """Weights ``[kh, kw, c]`` as the kernel takes them, ``[kh, kw, c, dim]``: entry
    ``[i, j, c, c % dim]`` is ``weight[i, j, c]``, all others are 0."""
    channels = np.arange(weight.shape[2])
    diagonal = np.zeros((*weight.shape, dim), weight.dtype)
    diagonal[:, :, channels, channels % dim] = weight
    return diagonal


@register_operator()
@dataclass(frozen=True)
class DepthwiseConv2d(ConvolutionOperator):
    """``out[n,y,x,c] = requantize(sum x[n, y*sh+i-t, x*sw+j-l, c] * w[i,j,c] + bias[c])``, or
    the sums themselves."""

    op: ClassVar[str] = "depthwise_conv2d"

    n: int
    h: int
    w: int
    c: int
    kh: int
    kw: int
    dim: int  # columns of the diagonal blocks: the device's array side
    strides: tuple[int, int] = (1, 1)
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    bias: bool = True
    relu: bool = False
    # One, or one for each channel of the output.
    scale: ChannelScale = CANONICAL_SCALE
    # Whether the output is the sums, int32.
    sums: bool = False
    # What is beside the image.
    pad_value: int = 0

    def __post_init__(self) -> None:
        require_positive("depthwise_conv2d", n=self.n, c=self.c, dim=self.dim)
        self.window.check("depthwise_conv2d")
        self.output.check("depthwise_conv2d", self.c)

    @property
    def args(self) -> tuple[Arg, ...]:
        win = self.window
        bias = (Arg("bias", "input", "int32", (self.c,)),) if self.bias else ()
        return (
            Arg("x", "input", "int8", (self.n, self.h, self.w, self.c)),
            Arg("weight", "input", "int8", (self.kh, self.kw, self.c, self.dim)),
            *bias,
            Arg("out", "output", self.output.dtype, (self.n, win.out_h, win.out_w, self.c)),
        )

    @property
    def macs(self) -> int:
        win = self.window
        return self.n * win.out_h * win.out_w * self.c * self.kh * self.kw

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        bias = "" if self.bias else "_nobias"
        shape = f"{self.h}x{self.w}x{self.c}_{self.window.label}"
        return f"depthwise_{batch}{shape}{bias}{self.output.label}"

    @property
    def layout_free(self) -> tuple[str, ...]:
        return ("weight",)

    @classmethod
    def examples(cls, config: DeviceConfig) -> Sequence[DepthwiseConv2d]:
        D = config.dim
        return (
            cls(1, 5, 7, 3, 3, 3, D, (1, 1), (1, 1, 1, 1)),
            cls(1, 9, 8, D + 1, 3, 3, D, (2, 2), (1, 1, 1, 1), relu=True),
            cls(2, 6, 6, 2 * D, 5, 5, D, (1, 1), (2, 2, 2, 2), bias=False),
            *with_pad_value(
                config, cls(1, 8, 7, D + 5, 3, 3, D, (2, 2), (0, 0, 1, 1), pad_value=-128)
            ),
            *with_sums(config, cls(1, 7, 6, D + 3, 3, 3, D, (1, 1), (1, 1, 1, 1))),
        )

    def canonical(self) -> DepthwiseConv2d:
        value = self.window.canonical_pad_value
        return replace(self, relu=False, scale=self.output.canonical_scale, pad_value=value)

    def padded(self, multiple: int) -> DepthwiseConv2d:
        c = rounded_up(self.c, multiple)
        return replace(self, c=c, scale=self.output.padded_scale(c))

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        self.check_device(config)
        D = config.dim
        if self.dim != D:
            raise OperatorError(f"{self.name}: weights laid out for dim {self.dim}, device has {D}")
        N, H, W, C = self.n, self.h, self.w, self.c
        KH, KW, (SH, SW), (PT, PL, _, _) = self.kh, self.kw, self.strides, self.pad
        OH, OW = self.window.out_h, self.window.out_w
        steps = self.window.steps(config)
        XP = steps.padded
        HP, WP = (OH - 1) * SH + KH, (XP - 1) * SW + KW
        CB = ceil_div(C, D)
        stored, out_type = self.output.expression(config), self.output.dtype
        has_bias, fill = self.bias, self.window.fill
        intrinsics = {"mac": gemm_intrinsic(config, steps.rows, SW)}
        loops = {
            "mac": [
                "batch",
                "blocks",
                "lines",
                "pixels",
                "lane",
                "kernel_h",
                "kernel_w",
                "depth_lane",
            ]
        }

        def initial(bias, c):
            return T.if_then_else(c < C, bias[c], 0) if has_bias else T.int32(0)

        @script.prim_func(s_tir=True)
        def depthwise_conv2d(
            x: T.Buffer((N, H, W, C), "int8"),
            weight: T.Buffer((KH, KW, C, D), "int8"),
            bias: T.Buffer((C,), "int32"),
            out: T.Buffer((N, OH, OW, C), out_type),
        ):
            T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
            with T.sblock("root"):
                a = T.sblock_alloc_buffer((N, CB, HP, WP, D), "int8")
                b = T.sblock_alloc_buffer((KH, KW, CB, D, D), "int8")
                acc = T.sblock_alloc_buffer((N, CB, OH, XP, D), "int32")
                for n, cb, h, w, c in T.grid(N, CB, HP, WP, D):
                    with T.sblock("load_a"):
                        vn, vcb, vh, vw, vc = T.axis.remap("SSSSS", [n, cb, h, w, c])
                        a[vn, vcb, vh, vw, vc] = T.if_then_else(
                            vh >= PT
                            and vh < H + PT
                            and vw >= PL
                            and vw < W + PL
                            and vcb * D + vc < C,
                            x[vn, vh - PT, vw - PL, vcb * D + vc],
                            T.int8(fill),
                        )
                for i, j, cb, c, o in T.grid(KH, KW, CB, D, D):
                    with T.sblock("load_b"):
                        vi, vj, vcb, vc, vo = T.axis.remap("SSSSS", [i, j, cb, c, o])
                        b[vi, vj, vcb, vc, vo] = T.if_then_else(
                            vcb * D + vc < C, weight[vi, vj, vcb * D + vc, vo], T.int8(0)
                        )
                for n, cb, y, xx, o, i, j, c in T.grid(N, CB, OH, XP, D, KH, KW, D):
                    with T.sblock("mac"):
                        vn, vcb, vy, vx, vo, vi, vj, vc = T.axis.remap(
                            "SSSSSRRR", [n, cb, y, xx, o, i, j, c]
                        )
                        T.reads(a[vn, vcb, vy * SH + vi, vx * SW + vj, vc], b[vi, vj, vcb, vc, vo])
                        T.writes(acc[vn, vcb, vy, vx, vo])
                        with T.init():
                            acc[vn, vcb, vy, vx, vo] = initial(bias, vcb * D + vo)
                        acc[vn, vcb, vy, vx, vo] += T.cast(
                            a[vn, vcb, vy * SH + vi, vx * SW + vj, vc], "int32"
                        ) * T.cast(b[vi, vj, vcb, vc, vo], "int32")
                for n, cb, y, xx, o in T.grid(N, CB, OH, XP, D):
                    with T.sblock("store"):
                        vn, vcb, vy, vx, vo = T.axis.remap("SSSSS", [n, cb, y, xx, o])
                        T.reads(acc[vn, vcb, vy, vx, vo])
                        T.writes(out[vn, vy, vx, vcb * D + vo])
                        if vx < OW and vcb * D + vo < C:
                            out[vn, vy, vx, vcb * D + vo] = stored(acc[vn, vcb, vy, vx, vo], vcb)

        return depthwise_conv2d if has_bias else drop_argument(depthwise_conv2d, "bias")

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        views = self.window.views(inputs["x"])
        channels = np.arange(self.c)
        weight = inputs["weight"][:, :, channels, channels % self.dim].astype(np.int64)
        total = np.einsum("nyxcij,ijc->nyxc", views, weight)
        return self.output.evaluate(wrapped_sums(total, inputs.get("bias")), numbers)

    @property
    def terms(self) -> int:
        return self.kh * self.kw

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        inputs = super().sample(generator)
        # The argument is made of diagonal blocks and is 0 elsewhere.
        compact = inputs["weight"][..., 0]
        return {**inputs, "weight": depthwise_diagonal(compact, self.dim)}

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        found = Convolution.of(match)
        if isinstance(found, str) or not found.is_depthwise:
            return None
        if not isinstance(found.weight, np.ndarray):
            return "depthwise convolution whose weights are not constant"
        dim, attributes = config.dim, found.attributes
        operator = cls(found.n, found.h, found.w, found.ci, dim=dim, **attributes)
        compact = found.weight.reshape(operator.kh, operator.kw, found.ci)
        diagonal = depthwise_diagonal(compact, dim)
        return Accepted(operator, (match.part("data"), diagonal, *found.biases))

    @property
    def structures(self) -> tuple[MacStructure, ...]:
        return WHOLE_DEPTH

    def mac_shape(self, config: DeviceConfig) -> MacShape:
        x, weight, *_, out = self.args
        steps = self.window.steps(config)
        return MacShape(
            blocks=ceil_div(self.c, config.dim),
            lines=self.window.out_h,
            steps=steps.number,
            depth=1,
            rows=steps.rows,
            dim=config.dim,
            inputs=Tensor.of(x),
            weights=Tensor.of(weight),
            outputs=Tensor.of(out),
            kernel=(self.kh, self.kw),
            strides=self.strides,
            batch=self.n,
            depthwise=True,
            window=self.window,
        )
