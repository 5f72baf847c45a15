"""Residual add: two int8 tensors of different scales, as products with two diagonal matrices.

The operands are the two lines of an image under a kernel of two positions, whose weights are the
same for all channels: the sum is a depthwise convolution.  So the array adds, in int32, and the
device rounds once, as it stores.  A constant, which zero points come to, is the convolution's
bias.  Loads that accumulate would add as well, but two loads of the same rows may overtake each
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm import tirx
from tvm.relax.dpl import is_const, is_op
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from .. import script
from ..device import DeviceConfig, kind_of
from ..device.numbers import Numbers
from ..intrin import gemm_intrinsic, most_step_rows
from ..relax_graph import constant_of, shape_of
from .arguments import drop_argument
from .blocking import LEAST_STEP_ROWS, Steps, balanced_steps, ceil_div, even_steps, rounded_up
from .mac_operator import MacOperator, wrapped_sums
from .mac_shape import MacShape, Tensor
from .mac_structure import MacStructure
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

# Nothing is used twice but the multipliers, which stay.
_STRUCTURES = tuple(
    MacStructure(
        kept=True, step_order="kernel_first", pipelined=pipelined, two_sums=pipelined, wide=wide
    )
    for pipelined in (True, False)
    for wide in (False, True)
)


def add_diagonals(a: int, b: int, dim: int) -> np.ndarray:
    """The kernel's ``weights`` for the multipliers of its operands: int8 ``[2, dim, dim]``.

    Raises
    ------
    OperatorError
        for a multiplier that is no int8.
    """
    for name, value in (("a", a), ("b", b)):
        if not -128 <= value <= 127:
            raise OperatorError(f"add: multiplier of {name} must be -128 to 127, got {value}")
    return np.stack([multiplier * np.eye(dim, dtype=np.int64) for multiplier in (a, b)]).astype(
        np.int8
    )


@register_operator()
@dataclass(frozen=True)
class Add(MacOperator):
    """``out = requantize(A * a + B * b + bias)``, the sum in int32; ``weights`` has A and B on its
    diagonals, as :func:`add_diagonals` makes it; all of ``bias`` are the same number."""

    op: ClassVar[str] = "add"
    weights: ClassVar[tuple[str, ...]] = ("weights",)
    seldom: ClassVar[tuple[str, ...]] = ("bias",)

    rows: int
    cols: int
    dim: int  # side of the diagonal matrices: the device's array side
    relu: bool = False
    scale: float = CANONICAL_SCALE
    bias: bool = False

    def __post_init__(self) -> None:
        require_positive("add", rows=self.rows, cols=self.cols, dim=self.dim)
        self.output.check("add", self.cols)

    @property
    def output(self) -> Output:
        return Output(self.scale, self.relu)

    @property
    def args(self) -> tuple[Arg, ...]:
        shape = (self.rows * self.cols,)
        return (
            Arg("a", "input", "int8", shape),
            Arg("b", "input", "int8", shape),
            Arg("weights", "input", "int8", (2, self.dim, self.dim)),
            *((Arg("bias", "input", "int32", (self.dim,)),) if self.bias else ()),
            Arg("out", "output", "int8", shape),
        )

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        return f"add_{self.rows}x{self.cols}" + ("_bias" if self.bias else "")

    @classmethod
    def examples(cls, config: DeviceConfig) -> Sequence[Add]:
        D = config.dim
        return (
            cls(1, 1, D),
            cls(D + 3, D - 1, D, relu=True),
            cls(5, 3 * D, D),
            cls(3, 2 * D + 1, D, bias=True),
        )

    def canonical(self) -> Add:
        return replace(self, relu=False, scale=CANONICAL_SCALE)

    def padded(self, multiple: int) -> Add:
        total = self.rows * self.cols
        if total % multiple == 0:
            return self
        return replace(self, rows=1, cols=rounded_up(total, multiple))

    def line_elements(self, config: DeviceConfig) -> int:
        """Elements that lie side by side in one row of every block: the tensors are read as lines
        of so many, whatever their channels are.  Whole blocks, as many as a load takes, or else
        less than one, so that no line is cut short."""
        total, kind = self.rows * self.cols, kind_of(config)
        widest = config.dim  # where no schedule loads anything
        if kind.has_schedules:
            widest = kind.copy_rules(config).most_load_columns(1)
        for line in range(widest, 0, -config.dim):
            if total % line == 0:
                return line
        return next(line for line in range(config.dim, 0, -1) if total % line == 0)

    def blocks(self, config: DeviceConfig) -> int:
        """Blocks of ``dim`` columns of a line."""
        return ceil_div(self.line_elements(config), config.dim)

    def steps(self, config: DeviceConfig) -> Steps:
        """The array's steps over the lines."""
        lines = self.rows * self.cols // self.line_elements(config)
        most = most_step_rows(config)
        steps = even_steps(lines, most)
        return steps if steps.rows >= LEAST_STEP_ROWS else balanced_steps(lines, most)

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        D = config.dim
        if self.dim != D:
            raise OperatorError(f"{self.name}: weights laid out for dim {self.dim}, device has {D}")
        (S,) = self.args[0].shape
        E = self.line_elements(config)
        L, CB = S // E, self.blocks(config)
        steps = self.steps(config)
        LP = steps.padded
        stored, has_bias = self.output.expression(config), self.bias
        intrinsics = {"mac": gemm_intrinsic(config, steps.rows)}
        loops = {"mac": ["batch", "blocks", "pixels", "lane", "kernel_h", "depth_lane"]}

        def is_inside(line, column):
            return tirx.And(line < L, column < E)

        def initial(bias, j):
            return T.if_then_else(j < E, bias[j], 0) if has_bias else T.int32(0)

        @script.prim_func(s_tir=True)
        def add(
            a: T.Buffer((S,), "int8"),
            b: T.Buffer((S,), "int8"),
            weights: T.Buffer((2, D, D), "int8"),
            bias: T.Buffer((D,), "int32"),
            out: T.Buffer((S,), "int8"),
        ):
            T.func_attr({"tirx.noalias": True, "npu.tensorize": intrinsics, "npu.loops": loops})
            with T.sblock("root"):
                x_rows = T.sblock_alloc_buffer((1, 2, CB, LP, D), "int8")
                w_rows = T.sblock_alloc_buffer((2, D, D), "int8")
                acc = T.sblock_alloc_buffer((1, CB, LP, D), "int32")
                for n, o, cb, r, c in T.grid(1, 2, CB, LP, D):
                    with T.sblock("load_a"):
                        vn, vo, vcb, vr, vc = T.axis.remap("SSSSS", [n, o, cb, r, c])
                        x_rows[vn, vo, vcb, vr, vc] = T.if_then_else(
                            vo == 0,
                            T.if_then_else(
                                is_inside(vr, vcb * D + vc),
                                a[vr * E + vcb * D + vc],
                                T.int8(0),
                            ),
                            T.if_then_else(
                                is_inside(vr, vcb * D + vc),
                                b[vr * E + vcb * D + vc],
                                T.int8(0),
                            ),
                        )
                for o, k, j in T.grid(2, D, D):
                    with T.sblock("load_b"):
                        vo, vk, vj = T.axis.remap("SSS", [o, k, j])
                        w_rows[vo, vk, vj] = T.if_then_else(vk < E, weights[vo, vk, vj], T.int8(0))
                for n, cb, r, j, o, k in T.grid(1, CB, LP, D, 2, D):
                    with T.sblock("mac"):
                        vn, vcb, vr, vj, vo, vk = T.axis.remap("SSSSRR", [n, cb, r, j, o, k])
                        T.reads(x_rows[vn, vo, vcb, vr, vk], w_rows[vo, vk, vj])
                        T.writes(acc[vn, vcb, vr, vj])
                        with T.init():
                            acc[vn, vcb, vr, vj] = initial(bias, vj)
                        acc[vn, vcb, vr, vj] += T.cast(
                            x_rows[vn, vo, vcb, vr, vk], "int32"
                        ) * T.cast(w_rows[vo, vk, vj], "int32")
                for n, cb, r, c in T.grid(1, CB, LP, D):
                    with T.sblock("store"):
                        vn, vcb, vr, vc = T.axis.remap("SSSS", [n, cb, r, c])
                        T.reads(acc[vn, vcb, vr, vc])
                        T.writes(out[vr * E + vcb * D + vc])
                        if is_inside(vr, vcb * D + vc):
                            out[vr * E + vcb * D + vc] = stored(acc[vn, vcb, vr, vc], vcb)

        return add if has_bias else drop_argument(add, "bias")

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        a, b = inputs["weights"][:, 0, 0].astype(np.int64)
        bias = inputs["bias"][:1] if self.bias else None
        sums = wrapped_sums(a * inputs["a"] + b * inputs["b"], bias)
        return self.output.evaluate(sums, numbers)

    @property
    def terms(self) -> int:
        return 2

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        inputs = super().sample(generator)
        # Multipliers that differ, and not by their sign alone, tell the operands apart.
        limit = max(2, self.amplitude("weights"))
        a, b = generator.choice(np.arange(1, limit + 1), 2, replace=False)
        inputs["weights"] = add_diagonals(a, -b, self.dim)
        if self.bias:
            inputs["bias"] = np.repeat(inputs["bias"][:1], self.dim)
        return inputs

    @classmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        parts = {"a": element(numbers), "b": element(numbers)}
        operands = []
        for side in ("a", "b"):
            wide = widened(parts[side], numbers)
            parts[f"{side}_multiplier"] = is_const()
            operands.append(commuted("relax.multiply", wide, parts[f"{side}_multiplier"]) | wide)
        parts["bias"] = is_const()
        anchor = is_op("relax.add")(*operands)
        biased = commuted("relax.add", anchor, parts["bias"])
        root = requantized(biased | anchor, parts, numbers)
        return [Spelling("relax.add", root, anchor, parts, ("a", "b"))]

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        left, right = match.part("a"), match.part("b")
        if shape_of(left) != shape_of(right):
            shapes = f"shapes {shape_of(left)} and {shape_of(right)}"
            return f"{shapes} differ, the device does not broadcast"
        if any(constant_of(value) is not None for value in (left, right)):
            return "one operand is constant: not a residual addition"
        multipliers = []
        for side in ("a", "b"):
            factor = match.optional(f"{side}_multiplier")
            values = np.array(1) if factor is None else constant_of(factor)
            if values is None or values.size != 1:
                size = "unknown" if values is None else str(values.size)
                return f"{size} multipliers of an operand (per channel?), the device takes one"
            multipliers.append(int(values.reshape(())))
        bias = match.optional("bias")
        constant = np.zeros(1, np.int32) if bias is None else constant_of(bias)
        if constant is None or constant.dtype != np.int32 or constant.size != 1:
            return "what is added to the sum is not one int32"
        cols = shape_of(left)[-1] if shape_of(left) else 1
        rows = int(np.prod(shape_of(left)[:-1]))
        (a, b), has_bias = multipliers, bool(constant.any())
        operator = cls(rows, cols, config.dim, match.relu, match.one_scale, has_bias)
        biases = (np.repeat(constant.reshape(-1), config.dim),) if has_bias else ()
        return Accepted(operator, (left, right, add_diagonals(a, b, config.dim), *biases))

    @property
    def structures(self) -> tuple[MacStructure, ...]:
        return _STRUCTURES

    def mac_shape(self, config: DeviceConfig) -> MacShape:
        a, _, weights, *_, out = self.args
        line, steps = self.line_elements(config), self.steps(config)
        return MacShape(
            blocks=self.blocks(config),
            lines=1,
            steps=steps.number,
            depth=1,
            rows=steps.rows,
            dim=config.dim,
            inputs=Tensor(2 * Tensor.of(a).elements, line),
            weights=Tensor.of(weights),
            outputs=Tensor.of(out, width=line),
            kernel=(2, 1),
            depthwise=True,
            same_b_rows=2 * config.dim,
        )
