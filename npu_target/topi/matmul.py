"""Batched matmul, and dense as a batch of one: int8 x int8 -> int32 -> requantize -> int8."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from ..device import DeviceConfig
from ..intrin import gemm_intrinsic
from .arguments import drop_argument
from .blocking import balanced_steps, ceil_div
from .operator import CANONICAL_SCALE, Arg, Operator, require_finite, require_positive
from .requantize import requantize


@dataclass(frozen=True)
class Matmul(Operator):
    """``out[n,i,j] = requantize(sum_k a[n,i,k] * b[n,k,j] + bias[j])``."""

    op: ClassVar[str] = "matmul"

    batch: int
    m: int
    k: int
    n: int
    bias: bool = True
    relu: bool = False
    scale: float = CANONICAL_SCALE
    # Whether b, a single matrix, is no constant. Several of them never count as constants.
    varying: bool = False

    def __post_init__(self) -> None:
        require_positive("matmul", batch=self.batch, m=self.m, k=self.k, n=self.n)
        require_finite("matmul", scale=self.scale)

    @property
    def args(self) -> tuple[Arg, ...]:
        bias = (Arg("bias", "input", "int32", (self.n,)),) if self.bias else ()
        return (
            Arg("a", "input", "int8", (self.batch, self.m, self.k)),
            Arg("b", "input", "int8", (self.batch, self.k, self.n)),
            *bias,
            Arg("out", "output", "int8", (self.batch, self.m, self.n)),
        )

    @property
    def macs(self) -> int:
        return self.batch * self.m * self.k * self.n

    @property
    def name(self) -> str:
        batch = "" if self.batch == 1 else f"b{self.batch}_"
        varying = "_varying" if self.varying else ""
        bias = "" if self.bias else "_nobias"
        return f"matmul_{batch}{self.m}x{self.k}x{self.n}{varying}{bias}"

    @property
    def layout_free(self) -> tuple[str, ...]:
        return ("b",) if self.batch == 1 and not self.varying else ()

    def attrs(self) -> dict[str, Any]:
        attrs = super().attrs()
        if not self.varying:
            del attrs["varying"]  # said where it is so: most products are with constants
        return attrs

    def canonical(self) -> Matmul:
        return replace(self, relu=False, scale=CANONICAL_SCALE)

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        D = config.dim
        N, M, K, J = self.batch, self.m, self.k, self.n
        steps = balanced_steps(M, D)
        MP, KB, JB = steps.padded, ceil_div(K, D), ceil_div(J, D)
        scale, relu, has_bias = self.scale, self.relu, self.bias
        intrinsics = {"mac": gemm_intrinsic(config, steps.rows)}
        loops = {"mac": ["batch", "blocks", "pixels", "lane", "depth", "depth_lane"]}

        def initial(bias, j):
            return T.if_then_else(j < J, bias[j], 0) if has_bias else T.int32(0)

        @T.prim_func(s_tir=True)
        def matmul(
            a: T.Buffer((N, M, K), "int8"),
            b: T.Buffer((N, K, J), "int8"),
            bias: T.Buffer((J,), "int32"),
            out: T.Buffer((N, M, J), "int8"),
        ):
            T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
            with T.sblock("root"):
                a_rows = T.sblock_alloc_buffer((N, KB, MP, D), "int8")
                b_rows = T.sblock_alloc_buffer((N, KB, JB, D, D), "int8")
                acc = T.sblock_alloc_buffer((N, JB, MP, D), "int32")
                for n, kb, i, k in T.grid(N, KB, MP, D):
                    with T.sblock("load_a"):
                        vn, vkb, vi, vk = T.axis.remap("SSSS", [n, kb, i, k])
                        a_rows[vn, vkb, vi, vk] = T.if_then_else(
                            vi < M and vkb * D + vk < K, a[vn, vi, vkb * D + vk], T.int8(0)
                        )
                for n, kb, jb, k, j in T.grid(N, KB, JB, D, D):
                    with T.sblock("load_b"):
                        vn, vkb, vjb, vk, vj = T.axis.remap("SSSSS", [n, kb, jb, k, j])
                        b_rows[vn, vkb, vjb, vk, vj] = T.if_then_else(
                            vkb * D + vk < K and vjb * D + vj < J,
                            b[vn, vkb * D + vk, vjb * D + vj],
                            T.int8(0),
                        )
                for n, jb, i, j, kb, k in T.grid(N, JB, MP, D, KB, D):
                    with T.sblock("mac"):
                        vn, vjb, vi, vj, vkb, vk = T.axis.remap("SSSSRR", [n, jb, i, j, kb, k])
                        T.reads(a_rows[vn, vkb, vi, vk], b_rows[vn, vkb, vjb, vk, vj])
                        T.writes(acc[vn, vjb, vi, vj])
                        with T.init():
                            acc[vn, vjb, vi, vj] = initial(bias, vjb * D + vj)
                        acc[vn, vjb, vi, vj] += T.cast(a_rows[vn, vkb, vi, vk], "int32") * T.cast(
                            b_rows[vn, vkb, vjb, vk, vj], "int32"
                        )
                for n, jb, i, j in T.grid(N, JB, MP, D):
                    with T.sblock("store"):
                        vn, vjb, vi, vj = T.axis.remap("SSSS", [n, jb, i, j])
                        T.reads(acc[vn, vjb, vi, vj])
                        T.writes(out[vn, vi, vjb * D + vj])
                        if vi < M and vjb * D + vj < J:
                            out[vn, vi, vjb * D + vj] = requantize(
                                acc[vn, vjb, vi, vj], scale, relu
                            )

        return matmul if has_bias else drop_argument(matmul, "bias")
