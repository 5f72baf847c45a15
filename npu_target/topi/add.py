"""Residual add: two int8 tensors of different scales, added in the accumulator.

The device scales, rounds and saturates each operand to int8 as it loads it, adds in int32, and
scales, rounds and saturates again as it stores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from ..config import NpuConfig
from .blocking import ceil_div
from .operator import CANONICAL_SCALE, Arg, Operator, require_finite, require_positive
from .requantize import requantize

_CANONICAL_SCALES = (0.75, 0.625)
_CANONICAL_SCALE_OUT = 0.875


@dataclass(frozen=True)
class Add(Operator):
    """``out = requantize(requantize(a, scale_a) + requantize(b, scale_b), scale_out)``."""

    op: ClassVar[str] = "add"

    rows: int
    cols: int
    scale_a: float = CANONICAL_SCALE
    scale_b: float = CANONICAL_SCALE
    scale_out: float = CANONICAL_SCALE
    relu: bool = False

    def __post_init__(self) -> None:
        require_positive("add", rows=self.rows, cols=self.cols)
        require_finite("add", scale_a=self.scale_a, scale_b=self.scale_b, scale_out=self.scale_out)

    @property
    def args(self) -> tuple[Arg, ...]:
        shape = (self.rows, self.cols)
        return (
            Arg("a", "input", "int8", shape),
            Arg("b", "input", "int8", shape),
            Arg("out", "output", "int8", shape),
        )

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        unscaled = [s for s, scale in (("a", self.scale_a), ("b", self.scale_b)) if scale == 1.0]
        return f"add_{self.rows}x{self.cols}" + (f"_unscaled_{''.join(unscaled)}" * bool(unscaled))

    def canonical(self) -> Add:
        # A load with scale 1 takes a quarter of the time of one with another scale. The scales
        # differ and keep int8 values apart, so that a measured candidate that confuses its
        # operands, or drops one, gives another output.
        scale_a, scale_b = _CANONICAL_SCALES
        if self.scale_a == 1.0:
            scale_a = 1.0
        if self.scale_b == 1.0:
            scale_b = 1.0
        return replace(
            self, scale_a=scale_a, scale_b=scale_b, scale_out=_CANONICAL_SCALE_OUT, relu=False
        )

    def prim_func(self, config: NpuConfig) -> PrimFunc:
        D = config.dim
        R, C = self.rows, self.cols
        CB = ceil_div(C, D)
        scale_a, scale_b, scale_out, relu = self.scale_a, self.scale_b, self.scale_out, self.relu

        # The first operand is what the accumulator starts from, the second one is added: a
        # reduction of one step, so that both live in the same accumulator rows.
        @T.prim_func(s_tir=True)
        def add(
            a: T.Buffer((R, C), "int8"),
            b: T.Buffer((R, C), "int8"),
            out: T.Buffer((R, C), "int8"),
        ):
            T.func_attr({"tirx.noalias": True})
            with T.sblock("root"):
                acc = T.sblock_alloc_buffer((CB, R, D), "int32")
                for cb, r, c, k in T.grid(CB, R, D, 1):
                    with T.sblock("sum"):
                        vcb, vr, vc, _ = T.axis.remap("SSSR", [cb, r, c, k])
                        T.reads(b[vr, vcb * D + vc])
                        T.writes(acc[vcb, vr, vc])
                        with T.init():
                            acc[vcb, vr, vc] = T.if_then_else(
                                vcb * D + vc < C,
                                T.cast(requantize(a[vr, vcb * D + vc], scale_a), "int32"),
                                0,
                            )
                        acc[vcb, vr, vc] += T.if_then_else(
                            vcb * D + vc < C,
                            T.cast(requantize(b[vr, vcb * D + vc], scale_b), "int32"),
                            0,
                        )
                for cb, r, c in T.grid(CB, R, D):
                    with T.sblock("store"):
                        vcb, vr, vc = T.axis.remap("SSS", [cb, r, c])
                        T.reads(acc[vcb, vr, vc])
                        T.writes(out[vr, vcb * D + vc])
                        if vcb * D + vc < C:
                            out[vr, vcb * D + vc] = requantize(acc[vcb, vr, vc], scale_out, relu)

        return add
