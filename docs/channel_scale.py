"""An operator of one's own: each channel of an int8 tensor times a constant, requantized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm.relax.dpl import is_const
from tvm.script import tirx as T

from npu_target.device import DeviceConfig
from npu_target.device.numbers import Numbers
from npu_target.intrin import gemm_intrinsic, most_step_rows
from npu_target.relax_graph import constant_of, shape_of
from npu_target.topi import CANONICAL_SCALE, Arg, OperatorError, register_operator
from npu_target.topi.blocking import balanced_steps, ceil_div
from npu_target.topi.mac_operator import WHOLE_DEPTH, MacOperator, wrapped_sums
from npu_target.topi.mac_shape import MacShape, Tensor
from npu_target.topi.mac_structure import MacStructure
from npu_target.topi.operator import Arrays, require_positive
from npu_target.topi.output import Output
from npu_target.topi.pattern import (
    Accepted,
    Match,
    Spelling,
    commuted,
    element,
    requantized,
    widened,
)


def diagonals(factors: np.ndarray, dim: int) -> np.ndarray:
    """One factor a channel, int8 `[channels]`, as matrices that the device multiplies with: int8
    `[channels, dim]`, row `c` with its factor in column `c % dim`."""
    channels = np.arange(len(factors))
    blocks = np.zeros((len(factors), dim), np.int8)
    blocks[channels, channels % dim] = factors
    return blocks


@register_operator(devices=("gemmini",))
@dataclass(frozen=True)
class ChannelScale(MacOperator):
    """`out[p, c] = requantize(x[p, c] * factors[c])`, each block of channels times a diagonal."""

    op: ClassVar[str] = "channel_scale"
    weights: ClassVar[tuple[str, ...]] = ("factors",)

    pixels: int
    channels: int
    dim: int  # of the diagonal matrices: the device's
    relu: bool = False
    scale: float = CANONICAL_SCALE

    def __post_init__(self) -> None:
        require_positive(self.op, pixels=self.pixels, channels=self.channels, dim=self.dim)
        self.output.check(self.op, self.channels)

    # ---- attributes ----

    @property
    def output(self) -> Output:
        return Output(self.scale, self.relu)

    @property
    def args(self) -> tuple[Arg, ...]:
        image = (self.pixels, self.channels)
        return (
            Arg("x", "input", "int8", image),
            Arg("factors", "input", "int8", (self.channels, self.dim)),
            Arg("out", "output", "int8", image),
        )

    @property
    def macs(self) -> int:
        return self.pixels * self.channels

    @property
    def name(self) -> str:
        return f"channel_scale_{self.pixels}x{self.channels}"

    def canonical(self) -> ChannelScale:
        return replace(self, relu=False, scale=CANONICAL_SCALE)

    # ---- mathematics: for the device, and in NumPy ----

    def prim_func(self, config: DeviceConfig):
        if self.dim != config.dim:
            raise OperatorError(f"{self.name}: factors for dim {self.dim}, not {config.dim}")
        P, C, D = self.pixels, self.channels, config.dim
        steps = balanced_steps(P, most_step_rows(config))
        PP, CB = steps.padded, ceil_div(C, D)
        stored = self.output.expression(config)
        intrinsics = {"mac": gemm_intrinsic(config, steps.rows)}
        loops = {"mac": ["batch", "blocks", "pixels", "lane", "depth_lane"]}

        @T.prim_func(s_tir=True)
        def channel_scale(
            x: T.Buffer((P, C), "int8"),
            factors: T.Buffer((C, D), "int8"),
            out: T.Buffer((P, C), "int8"),
        ):
            T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
            with T.sblock("root"):
                a = T.sblock_alloc_buffer((1, CB, PP, D), "int8")
                b = T.sblock_alloc_buffer((CB, D, D), "int8")
                acc = T.sblock_alloc_buffer((1, CB, PP, D), "int32")
                for n, cb, p, c in T.grid(1, CB, PP, D):
                    with T.sblock("load_a"):
                        vn, vcb, vp, vc = T.axis.remap("SSSS", [n, cb, p, c])
                        a[vn, vcb, vp, vc] = T.if_then_else(
                            vp < P and vcb * D + vc < C, x[vp, vcb * D + vc], T.int8(0)
                        )
                for cb, c, o in T.grid(CB, D, D):
                    with T.sblock("load_b"):
                        vcb, vc, vo = T.axis.remap("SSS", [cb, c, o])
                        b[vcb, vc, vo] = T.if_then_else(
                            vcb * D + vc < C, factors[vcb * D + vc, vo], T.int8(0)
                        )
                for n, cb, p, o, c in T.grid(1, CB, PP, D, D):
                    with T.sblock("mac"):
                        vn, vcb, vp, vo, vc = T.axis.remap("SSSSR", [n, cb, p, o, c])
                        T.reads(a[vn, vcb, vp, vc], b[vcb, vc, vo])
                        T.writes(acc[vn, vcb, vp, vo])
                        with T.init():
                            acc[vn, vcb, vp, vo] = T.int32(0)
                        acc[vn, vcb, vp, vo] += T.cast(a[vn, vcb, vp, vc], "int32") * T.cast(
                            b[vcb, vc, vo], "int32"
                        )
                for n, cb, p, o in T.grid(1, CB, PP, D):
                    with T.sblock("store"):
                        vn, vcb, vp, vo = T.axis.remap("SSSS", [n, cb, p, o])
                        T.reads(acc[vn, vcb, vp, vo])
                        T.writes(out[vp, vcb * D + vo])
                        if vp < P and vcb * D + vo < C:
                            out[vp, vcb * D + vo] = stored(acc[vn, vcb, vp, vo], vcb)

        return channel_scale

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        channels = np.arange(self.channels)
        factors = inputs["factors"][channels, channels % self.dim].astype(np.int64)
        sums = wrapped_sums(inputs["x"] * factors)
        return self.output.evaluate(sums, numbers)

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        inputs = super().sample(generator)
        return {**inputs, "factors": diagonals(inputs["factors"][:, 0], self.dim)}

    # ---- its place in a network: what it looks like, and which of these the device takes ----

    @classmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        parts = {"x": element(numbers), "factors": is_const()}
        wide = widened(parts["x"], numbers)
        anchor = commuted("relax.multiply", wide, parts["factors"])
        root = requantized(anchor, parts, numbers)
        return [Spelling("relax.multiply", root, anchor, parts, ("x",))]

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        x, factors = match.part("x"), constant_of(match.part("factors"))
        shape = shape_of(x)
        if factors.shape[-1:] != shape[-1:] or factors.size != shape[-1]:
            return f"factors of shape {factors.shape} are not one a channel"
        if factors.min() < -128 or factors.max() > 127:
            return "its factors are no int8"
        pixels = int(np.prod(shape[:-1]))
        operator = cls(pixels, shape[-1], config.dim, relu=match.relu, scale=match.scale)
        return Accepted(operator, (x, diagonals(factors.reshape(-1), config.dim)))

    @classmethod
    def examples(cls, config: DeviceConfig) -> list[ChannelScale]:
        return [cls(n, c, config.dim) for n, c in ((16, 2 * config.dim), (7, config.dim + 3))]

    # ---- schedules: structures worth trying, and what tiles walk, for what they cost ----

    @property
    def structures(self) -> tuple[MacStructure, ...]:
        return WHOLE_DEPTH

    def mac_shape(self, config: DeviceConfig) -> MacShape:
        x, factors, out = self.args
        steps = balanced_steps(self.pixels, most_step_rows(config))
        return MacShape(
            blocks=ceil_div(self.channels, config.dim),
            lines=1,
            steps=steps.number,
            depth=1,
            rows=steps.rows,
            dim=config.dim,
            inputs=Tensor.of(x),
            weights=Tensor.of(factors),
            outputs=Tensor.of(out),
            depthwise=True,
        )
