"""conv2d: int8 NHWC x HWIO -> int32, maybe requantized to int8; any kernel, stride, padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm.tirx import PrimFunc

from ...device import DeviceConfig
from ...device.numbers import Numbers
from ..blocking import ceil_div, rounded_up
from ..convolution import Convolution
from ..convolution_operator import ConvolutionOperator
from ..mac_operator import SPLIT_DEPTH, WHOLE_DEPTH, with_sums, wrapped_sums
from ..mac_shape import MacShape, Tensor
from ..mac_structure import MacStructure
from ..operator import CANONICAL_SCALE, Arg, Arrays, require_positive
from ..output import ChannelScale
from ..pattern import Accepted, Match
from ..registry import register_operator
from ..window import with_pad_value
from .joined import image_pixels, image_rows, joined_prim_func, takes_joined
from .pixels import pixel_prim_func
from .windows import strips, takes_windows, window_prim_func


@register_operator()
@dataclass(frozen=True)
class Conv2d(ConvolutionOperator):
    """``out[n,y,x,o] = requantize(bias[o] + sum x[n,y*sh+i-t,x*sw+j-l,c] * weight[i,j,c,o])``,
    or the sums themselves."""

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
    # One, or one for each channel of the output.
    scale: ChannelScale = CANONICAL_SCALE
    # Windows instead of pixels in the rows of a tile: see `conv2d.windows`.
    windows: bool = False
    # Whether the output is the sums, int32.
    sums: bool = False
    # What is beside the image.
    pad_value: int = 0

    def __post_init__(self) -> None:
        require_positive("conv2d", n=self.n, ci=self.ci, co=self.co)
        self.window.check("conv2d")
        self.output.check("conv2d", self.co)

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
            Arg("out", "output", self.output.dtype, (self.n, win.out_h, win.out_w, self.co)),
        )

    @property
    def macs(self) -> int:
        win = self.window
        return self.n * win.out_h * win.out_w * self.co * self.kh * self.kw * self.ci

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        bias = "" if self.bias else "_nobias"
        shape = f"{self.h}x{self.w}x{self.ci}_{self.co}_{self.window.label}"
        return f"conv2d_{batch}{shape}{bias}{self.output.label}"

    @property
    def layout_free(self) -> tuple[str, ...]:
        return () if self.windows else ("weight",)  # windows at edges take parts of a tile

    @classmethod
    def examples(cls, config: DeviceConfig) -> Sequence[Conv2d]:
        D = config.dim
        return (
            cls(1, 5, 7, 3, D + 3, 3, 3, (1, 1), (1, 1, 1, 1)),
            cls(2, 6, 9, D + 1, 5, 3, 2, (2, 1), (0, 1, 2, 0), relu=True),
            cls(1, 9, 9, 2 * D, D - 1, 1, 1, (2, 2), bias=False),
            cls(1, 12, 13, 3, 2 * D, 5, 5, (2, 2), (2, 2, 2, 2)),
            *with_pad_value(
                config,
                cls(1, 7, 9, D + 3, 2 * D, 3, 3, (1, 1), (1, 1, 1, 1), pad_value=-128),
                cls(1, 9, 8, 3, D - 1, 3, 3, (2, 2), (0, 0, 1, 1), pad_value=5),
            ),
            *with_sums(
                config,
                cls(1, 5, 9, D + 1, D + 3, 3, 3, (1, 1), (1, 1, 1, 1)),
                cls(1, 9, 12, 3, D, 3, 3, (2, 2), (1, 1, 1, 1), bias=False),
            ),
        )

    def canonical(self) -> Conv2d:
        value = self.window.canonical_pad_value
        return replace(
            self.kernel(), relu=False, scale=self.output.canonical_scale, pad_value=value
        )

    def kernel(self) -> Conv2d:
        if (self.kh, self.kw, *self.strides, *self.pad) == (1, 1, 1, 1, 0, 0, 0, 0):
            # Pixels of different lines are as good as neighbours: steps need not end at a line.
            return replace(self, h=1, w=self.h * self.w)
        return replace(self, windows=takes_windows(self))

    def padded(self, multiple: int) -> Conv2d:
        co = rounded_up(self.co, multiple)
        scale = self.output.padded_scale(co)
        return replace(self, ci=rounded_up(self.ci, multiple), co=co, scale=scale)

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        self.check_device(config)
        if self.windows:
            return window_prim_func(self, config)
        if takes_joined(self, config):
            return joined_prim_func(self, config)
        return pixel_prim_func(self, config)

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        views = self.window.views(inputs["x"].reshape(self.n, self.h, self.w, self.ci))
        kernel = (self.kh, self.kw, self.ci, self.co)
        weight = inputs["weight"].reshape(kernel).astype(np.float64)
        total = np.zeros((self.n * self.window.out_h * self.window.out_w, self.co))
        # One product per kernel position: no patch matrix of kh x kw times the image.
        for i in range(self.kh):
            for j in range(self.kw):
                pixels = views[..., i, j].reshape(-1, self.ci).astype(np.float64)
                total += pixels @ weight[i, j]
        return self.output.evaluate(wrapped_sums(total, inputs.get("bias")), numbers)

    @property
    def terms(self) -> int:
        return self.kh * self.kw * self.ci

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        found = Convolution.of(match)
        if isinstance(found, str):
            return found
        if found.is_depthwise:
            return None
        if found.groups > 1:
            return (
                f"{found.groups} groups of {found.ci} input and {found.co} output channels; "
                f"the device has ungrouped and depthwise convolution"
            )
        operator = cls(found.n, found.h, found.w, found.ci, found.co, **found.attributes)
        return Accepted(operator, (match.part("data"), found.weight, *found.biases))

    @property
    def structures(self) -> tuple[MacStructure, ...]:
        # Of windows there is little that could be split.
        return WHOLE_DEPTH if self.windows else (*WHOLE_DEPTH, *SPLIT_DEPTH)

    def mac_shape(self, config: DeviceConfig) -> MacShape:
        dim, window, steps = config.dim, self.window, self.window.steps(config)
        x, weight, *_, out = self.args
        shape = MacShape(
            blocks=ceil_div(self.co, dim),
            lines=window.out_h,
            steps=steps.number,
            depth=ceil_div(self.ci, dim),
            rows=steps.rows,
            dim=dim,
            inputs=Tensor.of(x),
            weights=Tensor.of(weight),
            outputs=Tensor.of(out),
            kernel=(self.kh, self.kw),
            strides=self.tile_strides,
            batch=self.n,
            window=window,
        )
        if self.windows:
            return self._window_shape(shape, config)
        if takes_joined(self, config):
            rows = window.out_h * window.out_w
            return replace(
                shape,
                lines=1,
                steps=1,
                rows=rows,
                image_rows=image_rows(self),
                image_pixels=image_pixels(self),
            )
        return shape

    def _window_shape(self, shape: MacShape, config: DeviceConfig) -> MacShape:
        """That of the widest strip, which is about all of it."""
        parts, by_column, lines, steps = strips(self)[0].walk(self, config)
        kernel, stride = self.kh, self.tile_strides[0]
        return replace(
            shape,
            lines=lines,
            steps=steps.number,
            depth=1,
            rows=steps.rows,
            inputs=Tensor.of(self.args[0], width=self.kw * self.ci),
            kernel=(1, kernel) if by_column else (kernel, 1),
            strides=(1, stride) if by_column else (stride, 1),
            windows=parts,
        )
