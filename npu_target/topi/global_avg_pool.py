"""The global average: sums over all pixels of a channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm.relax.dpl import is_const, is_op
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from .. import script
from ..device import DeviceConfig
from ..device.numbers import Numbers
from ..intrin import gemm_intrinsic
from ..relax_graph import attr_ints, constant_of, shape_of
from .blocking import ceil_div, rounded_up
from .mac_operator import MacOperator, with_sums, wrapped_sums
from .mac_shape import MacShape, Tensor
from .mac_structure import STEP_ORDERS, MacStructure
from .operator import (
    CANONICAL_SCALE,
    Arg,
    Arrays,
    OperatorError,
    require_positive,
)
from .output import Output
from .pattern import Accepted, Match, Spelling, commuted, element, requantized, widened
from .registry import register_operator

_STRUCTURES = (
    *(
        MacStructure("inputs_kept", kept=True, two_sums=two, step_order=order)
        for two in (False, True)
        for order in STEP_ORDERS
    ),
    MacStructure("inputs_kept", split_depth=True),
    MacStructure("inputs_kept", kept=True, pipelined=False),
)


@register_operator()
@dataclass(frozen=True)
class GlobalAvgPool(MacOperator):
    """``out[n,c] = requantize(sum_hw ones * x[n,h,w,c])``, or the sums themselves; the mean's
    divisor is part of the scale.

    The array sums: a row of ``ones`` times blocks of ``dim`` pixels.  All of the row are the same
    number: 1, or another one where the device's scales are too few to divide by the number of
    pixels.  Loads that accumulate would add as well, but two loads of the same row may overtake
    each other.
    """

    op: ClassVar[str] = "global_avg_pool"
    seldom: ClassVar[tuple[str, ...]] = ("sums",)

    n: int
    h: int
    w: int
    c: int
    dim: int  # of the row of ones: the device's array side
    scale: float = CANONICAL_SCALE
    # Whether the output is the sums, int32.
    sums: bool = False

    def __post_init__(self) -> None:
        require_positive("global_avg_pool", n=self.n, h=self.h, w=self.w, c=self.c, dim=self.dim)
        self.output.check("global_avg_pool", self.c)

    @property
    def output(self) -> Output:
        return Output(self.scale, sums=self.sums)

    @property
    def args(self) -> tuple[Arg, ...]:
        return (
            Arg("x", "input", "int8", (self.n, self.h * self.w, self.c)),
            Arg("ones", "input", "int8", (self.dim,)),
            Arg("out", "output", self.output.dtype, (self.n, self.c)),
        )

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        return f"global_avg_pool_{batch}{self.h}x{self.w}x{self.c}{self.output.label}"

    @classmethod
    def examples(cls, config: DeviceConfig) -> Sequence[GlobalAvgPool]:
        D = config.dim
        return (
            cls(1, 1, 1, 1, D),
            cls(2, 5, 7, D + 3, D),
            cls(1, 4, 4, 3 * D, D),
            *with_sums(config, cls(1, 5, 7, D + 3, D)),
        )

    def canonical(self) -> GlobalAvgPool:
        return replace(self, scale=CANONICAL_SCALE)

    def padded(self, multiple: int) -> GlobalAvgPool:
        return replace(self, c=rounded_up(self.c, multiple))

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        self.check_device(config)
        D = config.dim
        if self.dim != D:
            raise OperatorError(f"{self.name}: ones laid out for dim {self.dim}, device has {D}")
        N, P, C = self.n, self.h * self.w, self.c
        stored, out_type = self.output.expression(config), self.output.dtype
        KB, CB = ceil_div(P, D), ceil_div(C, D)
        intrinsics = {"mac": gemm_intrinsic(config, 1)}
        loops = {"mac": ["batch", "blocks", "pixels", "lane", "depth", "depth_lane"]}

        @script.prim_func(s_tir=True)
        def global_avg_pool(
            x: T.Buffer((N, P, C), "int8"),
            ones: T.Buffer((D,), "int8"),
            out: T.Buffer((N, C), out_type),
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
                            out[vn, vcb * D + vc] = stored(acc[vn, vcb, vi, vc], vcb)

        return global_avg_pool

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        pixels = inputs["x"].astype(np.int64) * inputs["ones"][0]
        return self.output.evaluate(wrapped_sums(pixels.sum(axis=1)), numbers)

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        return {**super().sample(generator), "ones": np.ones(self.dim, np.int8)}

    @classmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        return [_spelling(numbers, sums) for sums in (False, True)]

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        data, axes = match.part("data"), match.call.attrs.axis
        if len(shape_of(data)) != 4 or axes is None:
            return "a sum over other axes than an image's lines and pixels"
        if sorted(axis % 4 for axis in attr_ints(axes)) != [1, 2]:
            summed = f"a sum over axes {attr_ints(axes)}"
            return f"{summed}, the device sums lines and pixels of NHWC (1, 2)"
        if match.relu:
            return "clipped at 0: the device's average pool has no ReLU"
        factor = match.optional("factor")
        values = np.ones((), np.int32) if factor is None else constant_of(factor)
        if values is None or values.size != 1 or not -128 <= int(values.reshape(())) <= 127:
            return "its sum is multiplied by something else than one number of int8"
        n, h, w, c = shape_of(data)
        stored = {"sums": True} if match.spelling.sums else {"scale": match.one_scale}
        operator = cls(n, h, w, c, config.dim, **stored)
        return Accepted(operator, (data, np.full(config.dim, int(values.reshape(())), np.int8)))

    @property
    def structures(self) -> tuple[MacStructure, ...]:
        return _STRUCTURES

    def mac_shape(self, config: DeviceConfig) -> MacShape:
        x, ones, out = self.args
        return MacShape(
            blocks=ceil_div(self.c, config.dim),
            lines=1,
            steps=1,
            depth=ceil_div(self.h * self.w, config.dim),
            rows=1,
            dim=config.dim,
            inputs=Tensor.of(ones),
            weights=Tensor.of(x),
            outputs=Tensor.of(out),
            batch=self.n,
            same_a_rows=1,
        )


def _spelling(numbers: Numbers, sums: bool) -> Spelling:
    parts = {"data": element(numbers), "factor": is_const()}
    anchor = is_op("relax.sum")(widened(parts["data"], numbers))
    root = commuted("relax.multiply", anchor, parts["factor"]) | anchor
    if not sums:
        root = requantized(root, parts, numbers, with_relu=False)
    return Spelling("relax.sum", root, anchor, parts, ("data",), sums=sums)
