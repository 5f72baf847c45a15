"""conv2d of images with few channels: a row of a tile holds bytes of several kernel columns.

In NHWC the pixels under one kernel row are neighbouring bytes: 7 pixels of 3 channels are 21
bytes.  Overlapping copies, one an output pixel, put them into the columns of a row instead of
leaving 13 of 16 columns of seven pixels empty.  What is left past the last full row, 5 of the 21,
is stacked: the device writes what it loads for one row into the rows before, too, further to the
right, so that a row holds the 5 bytes of three lines and one step multiplies them all.  A kernel
of 7 rows takes 7 + 3 steps of the array then, not 49, and 14 without stacks.

A copy cannot start in the middle of a row, so a window that reaches over the image's left or
right edge has to leave pixels out.  The output is cut into strips of columns whose windows keep
the same pixels; each strip is a convolution of its own with the part of the weights that it
needs.  The rows of a step are pixels of a line; where lines are stacked, or a strip has one column,
those of a column.

Pixels that are left out count where the image is padded by another value than 0: the weights that
meet them are multiplied by rows of that value, in steps of their own behind the others.  There are
few: only strips at the image's edges, of one column each, have any.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from ...device import DeviceConfig
from ...intrin import gemm_intrinsic, most_step_rows
from ..blocking import Steps, balanced_steps, ceil_div
from .window_parts import Part, Parts, parts_beside, window_parts

if TYPE_CHECKING:
    from .operator import Conv2d

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

    def bytes(self, operator: Conv2d) -> int:
        """Bytes under a row of the kernel."""
        return (self.kernel_end - self.kernel_first) * operator.ci

    def parts(self, operator: Conv2d, config: DeviceConfig) -> Parts:
        """What the steps of a kernel row take of these, and of the bytes left and right of them
        where they count."""
        steps = balanced_steps(operator.window.out_h, most_step_rows(config))
        may_stack = self.columns > 1  # in the strip that comes first, when no row is in use
        n_bytes = self.bytes(operator)
        is_alone = self.columns == operator.window.out_w
        parts = window_parts(
            n_bytes, operator, steps, config, may_stack=may_stack, is_alone=is_alone
        )
        if not operator.window.fill:
            return parts
        left = self.kernel_first * operator.ci
        right = (operator.kw - self.kernel_end) * operator.ci
        beside = (
            *parts_beside(-left, 0, operator.kh, config.dim),
            *parts_beside(n_bytes, n_bytes + right, operator.kh, config.dim),
        )
        return replace(parts, beside=beside)

    def walk(self, operator: Conv2d, config: DeviceConfig) -> Walk:
        """How its output is walked."""
        parts, lines = self.parts(operator, config), operator.window.out_h
        most = most_step_rows(config)
        if parts.last.lines > 1 or self.columns == 1:
            return Walk(parts, True, self.columns, balanced_steps(lines, most))
        return Walk(parts, False, lines, balanced_steps(self.columns, most))


class Walk(NamedTuple):
    """``steps`` along a line, or ``by_column`` down a column, of each of so many ``lines`` (or
    columns)."""

    parts: Parts
    by_column: bool
    lines: int
    steps: Steps


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
    if operator.kh < operator.strides[0]:
        return False  # lines that no step reads would be loaded, in no order with later ones
    found = strips(operator)
    return len(found) <= MAX_STRIPS and all(s.kernel_end > s.kernel_first for s in found)


def window_prim_func(operator: Conv2d, config: DeviceConfig) -> tirx.PrimFunc:
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
    """The blocks of one strip.  Tiles have the loop over steps inside the one over lines; where
    both change roles, indices of the image do."""

    def __init__(
        self,
        operator: Conv2d,
        config: DeviceConfig,
        strip: Strip,
        suffix: str,
        buffers: dict[str, Any],
    ) -> None:
        self.op, self.strip, self.suffix, self.buffers = operator, strip, suffix, buffers
        self.dim = config.dim
        self.stored = operator.output.expression(config)
        self.parts, self.by_column, self.lines, self.steps = strip.walk(operator, config)
        self.blocks = ceil_div(operator.co, self.dim)
        stride = operator.strides[0] if self.by_column else 1
        self.intrinsic = gemm_intrinsic(config, self.steps.rows, stride)
        self.roles = ["batch", "blocks", "lines", "pixels", "lane", "windows", "depth_lane"]

    def emit(self) -> None:
        """The blocks, into the builder that is active."""
        n, dim, padded = self.op.n, self.dim, self.steps.padded
        a_shape = (n, self.parts.depth, *self.in_rows(self.lines, padded), dim)
        a = self.tile("a", a_shape, "int8")
        b = self.tile("b", (self.parts.steps, self.blocks, dim, dim), "int8")
        acc = self.tile("acc", (n, self.blocks, self.lines, padded, dim), "int32")
        self.load_a(a, a_shape)
        self.load_b(b)
        self.mac(a, b, acc)
        self.store(acc)

    def in_rows(self, lines: int, pixels: int) -> tuple[int, int]:
        """Of the image what so many lines and pixels of the output take, as rows of a tile."""
        down, kernel = self.op.strides[0], self.op.kh
        if self.by_column:
            return lines, (pixels - 1) * down + kernel
        return (lines - 1) * down + kernel, pixels

    def largest_tile(self, config: DeviceConfig) -> dict[str, int]:
        """The largest tile that fits the memories, by what its loops walk."""
        extents = {"lines": self.lines, "steps": self.steps.number, "blocks": self.blocks}
        tile = dict(extents)

        def fits() -> bool:
            rows = tile["steps"] * self.steps.rows
            a_rows = self.parts.depth * prod(self.in_rows(tile["lines"], rows))
            a_rows += self.parts.depth * tile["lines"] * (self.parts.last.lines - 1)
            b_rows = self.parts.steps * tile["blocks"] * self.dim
            acc_rows = tile["blocks"] * tile["lines"] * rows
            return config.memories.have_room(a_rows, b_rows, acc_rows)

        for name, extent in extents.items():
            while not fits() and tile[name] > 1:
                tile[name] = next(n for n in range(tile[name] - 1, 0, -1) if extent % n == 0)
        return tile

    def tile(self, name: str, shape: tuple[int, ...], dtype: str) -> Any:
        """A buffer of the strip, named apart from those of the others."""
        buffer = T.sblock_alloc_buffer(shape, dtype)
        IRBuilder.name(f"{name}{self.suffix}", buffer)
        return buffer

    def by_part(self, is_last: Any, number: Any, value: Callable[[Part], Any]) -> Any:
        """A value for the last part, or for the one of the others with a ``number``."""
        parts = self.parts
        if not parts.number:
            return value(parts.last)
        other = Part(number * parts.columns, parts.columns)
        return tirx.if_then_else(is_last, value(parts.last), value(other))

    def load_a(self, a: Any, shape: tuple[int, ...]) -> None:
        """The bytes under kernel rows, a row of the tile for each output column and line; what the
        image is padded by above and below it, and in the part beside it."""
        op, strip, number = self.op, self.strip, self.parts.number
        fill = tirx.IntImm("int8", op.window.fill)
        start = (strip.kernel_first - op.pad[1] + strip.first * op.strides[1]) * op.ci
        with self.block("load_a", "SSSSS", shape) as (vn, vk, vl, vp, vc):
            row, column = (vp, vl) if self.by_column else (vl, vp)

            def value(part: Part) -> Any:
                line, byte, inside = part.element(row - op.pad[0], vc, self.dim)
                byte = column * (op.strides[1] * op.ci) + byte + start
                inside = tirx.all(line >= 0, line < op.h, column < strip.columns, *inside)
                return tirx.if_then_else(inside, self.buffers["x"][vn, line, byte], fill)

            loaded = self.by_part(vk >= number, vk, value)
            if self.parts.beside:
                loaded = tirx.if_then_else(vk > number, fill, loaded)
            T.buffer_store(a, loaded, [vn, vk, vl, vp, vc])

    def load_b(self, b: Any) -> None:
        """The strip's rows of the weights; zeros past them, which hide what is past a window."""
        op, dim, parts = self.op, self.dim, self.parts
        first = self.strip.kernel_first * op.ci
        zero = tirx.IntImm("int8", 0)
        shape = (parts.steps, self.blocks, dim, dim)
        with self.block("load_b", "SSSS", shape) as (vi, vob, vc, vo):

            def value(part: Part, place: tuple[Any, Any, list[Any]]) -> Any:
                line, row, inside = place
                if part.lines > 1:
                    inside = [line < op.kh, *inside]
                inside = tirx.all(vob * dim + vo < op.co, *inside)
                element = self.buffers["weight"][line, row + first, vob * dim + vo]
                return tirx.if_then_else(inside, element, zero)

            def of_image(part: Part) -> Any:
                line = vi * part.lines if part is parts.last else step % op.kh
                return value(part, part.element(line, vc, dim))

            step = vi - parts.steps_of_last
            loaded = self.by_part(step < 0, step // op.kh, of_image)
            end = parts.steps_inside
            for part in parts.beside:
                behind = vi - end
                weights = value(part, part.beside(behind * part.lines, vc, dim))
                loaded = tirx.if_then_else(behind >= 0, weights, loaded)
                end += parts.steps_of(part)
            T.buffer_store(b, loaded, [vi, vob, vc, vo])

    def mac(self, a: Any, b: Any, acc: Any) -> None:
        """The array's steps; the bias is where the accumulator starts."""
        dim, parts, down = self.dim, self.parts, self.op.strides[0]
        shape = (self.op.n, self.blocks, self.lines, self.steps.padded, dim, parts.steps, dim)
        with self.block("mac", "SSSSSRR", shape) as (vn, vob, vl, vp, vo, vi, vc):
            at, line = [vn, vob, vl, vp, vo], parts.line_of(vi)
            row = (vl, vp * down + line) if self.by_column else (vl * down + line, vp)
            mine = a[vn, parts.part_of(vi), row[0], row[1], vc]
            weight = b[vi, vob, vc, vo]
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
        with self.block("store", "SSSSS", shape) as (vn, vob, vl, vp, vo):
            channel = vob * dim + vo
            line, column = (vp, vl) if self.by_column else (vl, vp)
            at = [vn, line, column + self.strip.first, channel]
            value = acc[vn, vob, vl, vp, vo]
            T.reads(value)
            T.writes(out[tuple(at)])
            pixels = op.window.out_h if self.by_column else self.strip.columns
            with T.If(tirx.all(vp < pixels, channel < op.co)), T.Then():
                T.buffer_store(out, self.stored(value, vob), at)

    @contextmanager
    def block(self, name: str, kinds: str, shape: tuple[int, ...]) -> Any:
        """A block of the strip inside its loops; gives its iterators."""
        with T.grid(*shape) as variables, T.sblock(f"{name}{self.suffix}"):
            yield T.axis.remap(kinds, list(variables))
