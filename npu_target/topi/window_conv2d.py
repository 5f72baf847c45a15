"""conv2d of images with few channels: a scratchpad row holds a window, not a pixel.

In NHWC the pixels under one kernel row are neighbouring bytes: 7 pixels of 3 channels are 21
bytes.  Overlapping copies, one a window, put them into the columns of two blocks instead of
leaving 13 of 16 columns of seven pixels empty, and the array needs 2 steps for a kernel row
instead of 7.

A copy cannot start in the middle of a row, so a window that reaches over the image's left or
right edge has to leave pixels out.  The output is cut into strips of columns whose windows keep
the same pixels; each strip is a convolution of its own with the part of the weights that it
needs.  A strip of a single column takes its steps' pixels from several lines.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from ..config import NpuConfig
from ..intrin import gemm_intrinsic
from .blocking import balanced_steps, ceil_div
from .requantize import requantize

if TYPE_CHECKING:
    from .conv2d import Conv2d

# More strips than this and their code outweighs what the windows save.
MAX_STRIPS = 8


@dataclass(frozen=True)
class Strip:
    """Output columns ``first`` to ``end`` whose windows keep kernel columns ``kernel_first`` to
    ``kernel_end``."""

    first: int
    end: int
    kernel_first: int
    kernel_end: int

    @property
    def columns(self) -> int:
        """Output columns."""
        return self.end - self.first


def strips(operator: Conv2d) -> list[Strip]:
    """The strips of an operator, the widest first."""
    found: list[Strip] = []
    for column in range(operator.window.out_w):
        start = column * operator.strides[1] - operator.pad[1]
        first, end = max(0, -start), max(0, min(operator.kw, operator.w - start))
        last = found[-1] if found else None
        if last and (last.kernel_first, last.kernel_end) == (first, end):
            found[-1] = Strip(last.first, column + 1, first, end)
        else:
            found.append(Strip(column, column + 1, first, end))
    return sorted(found, key=lambda strip: -strip.columns)


def takes_windows(operator: Conv2d) -> bool:
    """Whether an operator has few channels, and windows that are worth it."""
    if operator.ci > 4 or operator.kw == 1:
        return False
    found = strips(operator)
    return len(found) <= MAX_STRIPS and all(s.kernel_end > s.kernel_first for s in found)


def window_prim_func(operator: Conv2d, config: NpuConfig) -> tirx.PrimFunc:
    """The definition; ``x`` is ``[n, h, w * ci]`` and ``weight`` is ``[kh, kw * ci, co]``."""
    intrinsics: dict[str, str] = {}
    loops: dict[str, list[str]] = {}
    tiles: dict[str, dict[str, int]] = {}
    with IRBuilder() as builder:
        with T.prim_func(s_tir=True):
            T.func_name("conv2d")
            buffers = {
                arg.name: T.arg(arg.name, T.Buffer(arg.shape, arg.dtype)) for arg in operator.args
            }
            with T.sblock("root"):
                for index, strip in enumerate(strips(operator)):
                    suffix = f"_{index}" if index else ""
                    part = _StripBlocks(operator, config, strip, suffix, buffers)
                    # A scope of its own: there its store is the only one to write the output.
                    # The loop keeps TVM's schedules from changing each other: they share
                    # statements, and see that only of loops and of blocks inside loops.
                    with T.serial(1), T.sblock(f"strip{suffix}"):
                        part.emit()
                    intrinsics[f"mac{suffix}"] = part.intrinsic
                    loops[f"mac{suffix}"] = part.roles
                    if index:
                        tiles[f"mac{suffix}"] = part.largest_tile(config)
    attrs = {
        "tirx.noalias": True,
        "npu.tensorize": intrinsics,
        "npu.loops": loops,
        "npu.tiles": tiles,
    }
    return builder.get().with_attr(attrs)


class _StripBlocks:
    """The blocks of one strip.  ``pixels`` of a step are neighbours in a line, or, for a strip of
    one column, in a column."""

    def __init__(
        self,
        operator: Conv2d,
        config: NpuConfig,
        strip: Strip,
        suffix: str,
        buffers: dict[str, Any],
    ) -> None:
        self.op, self.strip, self.suffix, self.buffers = operator, strip, suffix, buffers
        self.dim = config.dim
        self.by_column = strip.columns == 1
        out_h = operator.window.out_h
        self.pixels = out_h if self.by_column else strip.columns
        self.lines = 1 if self.by_column else out_h
        self.steps = balanced_steps(self.pixels, self.dim)
        self.bytes = (strip.kernel_end - strip.kernel_first) * operator.ci
        self.depth = ceil_div(self.bytes, self.dim)
        self.blocks = ceil_div(operator.co, self.dim)
        self.intrinsic = gemm_intrinsic(config, self.steps.rows)
        lines = [] if self.by_column else ["lines"]
        tail = ["pixels", "lane", "kernel_h", "depth", "depth_lane"]
        self.roles = ["batch", "blocks", *lines, *tail]

    def emit(self) -> None:
        """The blocks, into the builder that is active."""
        n, dim, kh, padded = self.op.n, self.dim, self.op.kh, self.steps.padded
        in_lines = (self.lines - 1) * self.op.strides[0] + kh
        # By column every kernel row has its own copy of the windows, one a line of output.
        a_shape = (n, kh if self.by_column else in_lines, self.depth, padded, dim)
        a = self.tile("a", a_shape, "int8")
        b = self.tile("b", (kh, self.depth, self.blocks, dim, dim), "int8")
        acc = self.tile("acc", (n, self.blocks, self.lines, padded, dim), "int32")
        self.load_a(a, a_shape)
        self.load_b(b)
        self.mac(a, b, acc)
        self.store(acc)

    def largest_tile(self, config: NpuConfig) -> dict[str, int]:
        """The largest tile that fits the memories, by what its loops walk."""
        extents = {"lines": self.lines, "steps": self.steps.number, "blocks": self.blocks}
        tile = dict(extents)

        def fits() -> bool:
            rows = tile["steps"] * self.steps.rows
            kh = self.op.kh
            lines = kh if self.by_column else (tile["lines"] - 1) * self.op.strides[0] + kh
            a_rows = lines * self.depth * rows
            b_rows = kh * self.depth * tile["blocks"] * self.dim
            acc_rows = tile["blocks"] * tile["lines"] * rows
            return a_rows + b_rows <= config.spad_rows and acc_rows <= config.acc_rows

        for name, extent in extents.items():
            while not fits() and tile[name] > 1:
                tile[name] = next(n for n in range(tile[name] - 1, 0, -1) if extent % n == 0)
        return tile

    def tile(self, name: str, shape: tuple[int, ...], dtype: str) -> Any:
        """A buffer of the strip, named apart from those of the others."""
        buffer = T.sblock_alloc_buffer(shape, dtype)
        IRBuilder.name(f"{name}{self.suffix}", buffer)
        return buffer

    def load_a(self, a: Any, shape: tuple[int, ...]) -> None:
        """Windows, one a row; zeros above and below the image."""
        op, strip = self.op, self.strip
        start = (strip.kernel_first - op.pad[1] + strip.first * op.strides[1]) * op.ci
        with self.block("load_a", "SSSSS", shape) as (vn, vh, vk, vp, vc):
            column = vk * self.dim + vc
            if self.by_column:
                line, byte = vp * op.strides[0] + vh - op.pad[0], start + column
            else:
                line, byte = vh - op.pad[0], vp * (op.strides[1] * op.ci) + start + column
            inside = tirx.all(line >= 0, line < op.h, vp < self.pixels, column < self.bytes)
            value = self.buffers["x"][vn, line, byte]
            zero = tirx.IntImm("int8", 0)
            T.buffer_store(a, tirx.if_then_else(inside, value, zero), [vn, vh, vk, vp, vc])

    def load_b(self, b: Any) -> None:
        """The strip's rows of the weights; zeros past them, which hide what is past a window."""
        op, dim = self.op, self.dim
        first = self.strip.kernel_first * op.ci
        shape = (op.kh, self.depth, self.blocks, dim, dim)
        with self.block("load_b", "SSSSS", shape) as (vi, vk, vob, vc, vo):
            row, column = vk * dim + vc, vob * dim + vo
            inside = tirx.all(row < self.bytes, column < op.co)
            value = self.buffers["weight"][vi, first + row, column]
            zero = tirx.IntImm("int8", 0)
            T.buffer_store(b, tirx.if_then_else(inside, value, zero), [vi, vk, vob, vc, vo])

    def mac(self, a: Any, b: Any, acc: Any) -> None:
        """The array's steps; the bias is where the accumulator starts."""
        op, dim = self.op, self.dim
        lines = () if self.by_column else (self.lines,)
        shape = (op.n, self.blocks, *lines, self.steps.padded, dim, op.kh, self.depth, dim)
        kinds = "SS" + "S" * len(lines) + "SSRRR"
        with self.block("mac", kinds, shape) as (vn, vob, *vy, vp, vo, vi, vk, vc):
            line = vi if self.by_column else vy[0] * op.strides[0] + vi
            at = [vn, vob, vy[0] if vy else 0, vp, vo]
            mine, weight = a[vn, line, vk, vp, vc], b[vi, vk, vob, vc, vo]
            T.reads(mine, weight)
            T.writes(acc[tuple(at)])
            with T.init():
                T.buffer_store(acc, self.initial(vob * dim + vo), at)
            product = tirx.Cast("int32", mine) * tirx.Cast("int32", weight)
            T.buffer_store(acc, acc[tuple(at)] + product, at)

    def initial(self, channel: Any) -> Any:
        """The bias, 0 past the last channel or without one."""
        zero = tirx.IntImm("int32", 0)
        if not self.op.bias:
            return zero
        return tirx.if_then_else(channel < self.op.co, self.buffers["bias"][channel], zero)

    def store(self, acc: Any) -> None:
        """The strip's columns of the output."""
        op, dim, out = self.op, self.dim, self.buffers["out"]
        shape = (op.n, self.blocks, self.lines, self.steps.padded, dim)
        with self.block("store", "SSSSS", shape) as (vn, vob, vy, vp, vo):
            channel = vob * dim + vo
            line, pixel = (vp, 0) if self.by_column else (vy, vp)
            at = [vn, line, pixel + self.strip.first, channel]
            value = acc[vn, vob, vy, vp, vo]
            T.reads(value)
            T.writes(out[tuple(at)])
            with T.If(tirx.all(vp < self.pixels, channel < op.co)), T.Then():
                T.buffer_store(out, requantize(value, op.scale, op.relu), at)

    @contextmanager
    def block(self, name: str, kinds: str, shape: tuple[int, ...]) -> Any:
        """A block of the strip inside its loops; gives its iterators."""
        with T.grid(*shape) as variables, T.sblock(f"{name}{self.suffix}"):
            yield T.axis.remap(kinds, list(variables))
