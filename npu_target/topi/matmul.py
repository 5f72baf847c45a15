"""Batched matmul, and dense as a batch of one: int8 x int8 -> int32, maybe requantized."""

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
from ..intrin import gemm_intrinsic, most_step_rows
from ..relax_graph import constant_of, shape_of
from .arguments import drop_argument
from .blocking import balanced_steps, ceil_div, rounded_up
from .mac_operator import SPLIT_DEPTH, WHOLE_DEPTH, MacOperator, with_sums, wrapped_sums
from .mac_shape import MacShape, Tensor
from .mac_structure import MacStructure
from .operator import CANONICAL_SCALE, Arg, Arrays, require_positive
from .output import ChannelScale, Output, output_attributes
from .pattern import Accepted, Match, Spelling, product
from .registry import register_operator


@register_operator()
@dataclass(frozen=True)
class Matmul(MacOperator):
    """``out[n,i,j] = requantize(sum_k a[n,i,k] * b[n,k,j] + bias[j])``, or the sums themselves."""

    op: ClassVar[str] = "matmul"
    seldom: ClassVar[tuple[str, ...]] = ("varying", "sums")
    channel_scales: ClassVar[bool] = True
    weights: ClassVar[tuple[str, ...]] = ("b",)

    batch: int
    m: int
    k: int
    n: int
    bias: bool = True
    relu: bool = False
    # One, or one for each channel of the output.
    scale: ChannelScale = CANONICAL_SCALE
    # Whether b, a single matrix, is no constant. Several of them never count as constants.
    varying: bool = False
    # Whether the output is the sums, int32.
    sums: bool = False

    def __post_init__(self) -> None:
        require_positive("matmul", batch=self.batch, m=self.m, k=self.k, n=self.n)
        self.output.check("matmul", self.n)

    @property
    def output(self) -> Output:
        return Output(self.scale, self.relu, self.sums)

    @property
    def args(self) -> tuple[Arg, ...]:
        bias = (Arg("bias", "input", "int32", (self.n,)),) if self.bias else ()
        return (
            Arg("a", "input", "int8", (self.batch, self.m, self.k)),
            Arg("b", "input", "int8", (self.batch, self.k, self.n)),
            *bias,
            Arg("out", "output", self.output.dtype, (self.batch, self.m, self.n)),
        )

    @property
    def macs(self) -> int:
        return self.batch * self.m * self.k * self.n

    @property
    def name(self) -> str:
        batch = "" if self.batch == 1 else f"b{self.batch}_"
        varying = "_varying" if self.varying else ""
        bias = "" if self.bias else "_nobias"
        return f"matmul_{batch}{self.m}x{self.k}x{self.n}{varying}{bias}{self.output.label}"

    @property
    def layout_free(self) -> tuple[str, ...]:
        return ("b",) if self.batch == 1 and not self.varying else ()

    def padded(self, multiple: int) -> Matmul:
        n = rounded_up(self.n, multiple)
        scale = self.output.padded_scale(n)
        return replace(self, k=rounded_up(self.k, multiple), n=n, scale=scale)

    @classmethod
    def examples(cls, config: DeviceConfig) -> Sequence[Matmul]:
        D = config.dim
        return (
            cls(1, 1, 1, 1),
            cls(1, D + 1, 2 * D - 1, D - 1, relu=True),
            cls(3, 5, D, 2 * D + 3, bias=False),
            cls(1, 3 * D, 4 * D, 2 * D, varying=True),
            *with_sums(config, cls(2, D + 1, 2 * D, D + 3), cls(1, 3, D, 2 * D, bias=False)),
        )

    def canonical(self) -> Matmul:
        return replace(self, relu=False, scale=self.output.canonical_scale)

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        self.check_device(config)
        D = config.dim
        N, M, K, J = self.batch, self.m, self.k, self.n
        steps = balanced_steps(M, most_step_rows(config))
        MP, KB, JB = steps.padded, ceil_div(K, D), ceil_div(J, D)
        stored, out_type = self.output.expression(config), self.output.dtype
        has_bias = self.bias
        intrinsics = {"mac": gemm_intrinsic(config, steps.rows)}
        loops = {"mac": ["batch", "blocks", "pixels", "lane", "depth", "depth_lane"]}

        def initial(bias, j):
            return T.if_then_else(j < J, bias[j], 0) if has_bias else T.int32(0)

        @script.prim_func(s_tir=True)
        def matmul(
            a: T.Buffer((N, M, K), "int8"),
            b: T.Buffer((N, K, J), "int8"),
            bias: T.Buffer((J,), "int32"),
            out: T.Buffer((N, M, J), out_type),
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
                            out[vn, vi, vjb * D + vj] = stored(acc[vn, vjb, vi, vj], vjb)

        return matmul if has_bias else drop_argument(matmul, "bias")

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        total = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
        return self.output.evaluate(wrapped_sums(total, inputs.get("bias")), numbers)

    @property
    def terms(self) -> int:
        return self.k

    @classmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        return [product("relax.matmul", numbers, sums=sums) for sums in (False, True)]

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        left, right = match.part("data"), match.part("weight")
        a_shape, b_shape = shape_of(left), shape_of(right)
        if min(len(a_shape), len(b_shape)) < 2:
            return f"matrix product of shapes {a_shape} and {b_shape}, the device takes matrices"
        k, n = b_shape[-2:]
        if len(b_shape) == 2:  # one matrix for all rows: batch axes are rows
            batch, m = 1, int(np.prod(a_shape[:-1]))
        elif a_shape[:-2] == b_shape[:-2]:
            batch, m = int(np.prod(a_shape[:-2])), a_shape[-2]
        else:
            batches = f"batches {a_shape[:-2]} and {b_shape[:-2]}"
            return f"{batches} differ, the device does not broadcast"
        bias = match.bias(len(shape_of(match.anchor)) - 1)
        if isinstance(bias, str):
            return bias
        values = constant_of(right)
        operator = cls(
            batch,
            m,
            k,
            n,
            bias=bias is not None,
            varying=batch == 1 and values is None,
            **output_attributes(match),
        )
        biases = () if bias is None else (bias,)
        return Accepted(operator, (left, right if values is None else values, *biases))

    @property
    def structures(self) -> tuple[MacStructure, ...]:
        return (*WHOLE_DEPTH, *SPLIT_DEPTH)

    def mac_shape(self, config: DeviceConfig) -> MacShape:
        a, b, *_, out = self.args
        steps = balanced_steps(self.m, most_step_rows(config))
        return MacShape(
            blocks=ceil_div(self.n, config.dim),
            lines=1,
            steps=steps.number,
            depth=ceil_div(self.k, config.dim),
            rows=steps.rows,
            dim=config.dim,
            inputs=Tensor.of(a),
            weights=Tensor.of(b),
            outputs=Tensor.of(out),
            batch=self.batch,
        )
