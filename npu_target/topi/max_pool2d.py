"""Max pooling: the maximum over windows, as the store unit takes it, or steps of the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm import relax, tirx
from tvm.relax.dpl import is_op
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from .. import script
from ..device import DeviceConfig, Elementwise, kind_of
from ..device.numbers import Numbers
from ..relax_graph import Graph, attr_ints, constant_of, dtype_of, op_name, shape_of
from .blocking import ceil_div, rounded_up
from .mac_operator import check_step
from .max_pool_steps import n_matrices, stepped_prim_func
from .operator import Arg, Arrays, OperatorError, require_positive
from .pattern import Accepted, Match, Spelling, element, padded
from .pool_operator import PoolOperator, PoolShape
from .registry import register_operator
from .window import Window, with_pad_value


@register_operator()
@dataclass(frozen=True)
class MaxPool2d(PoolOperator):
    """``out[n,y,x,c] = max x[n, y*s+i-t, x*s+j-l, c]``, padding counting as 0 (square windows).

    Where stores pool, the image passes through the memory of sums: a store that pools rows of
    inputs may be ordered behind the load of the first of them only, one that pools sums is behind
    all. Where they do not, the device's steps do it, if it has some for that (`max_pool_steps`).
    """

    op: ClassVar[str] = "max_pool2d"
    seldom: ClassVar[tuple[str, ...]] = ("dim", "pad_value")

    n: int
    h: int
    w: int
    c: int
    size: int
    stride: int
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    dim: int | None = None  # of the identity matrix that steps need; None: stores pool
    pad_value: int = 0  # what is beside the image

    def __post_init__(self) -> None:
        require_positive("max_pool2d", n=self.n, c=self.c, dim=1 if self.dim is None else self.dim)
        self.window.check("max_pool2d")

    @property
    def window(self) -> Window:
        """The sliding window."""
        strides = (self.stride, self.stride)
        return Window(self.h, self.w, self.size, self.size, strides, self.pad, self.pad_value)

    @property
    def args(self) -> tuple[Arg, ...]:
        win, D = self.window, self.dim
        matrix = () if D is None else (Arg("identity", "input", "int8", (D, D)),)
        return (
            Arg("x", "input", "int8", (self.n, self.h, self.w, self.c)),
            *matrix,
            Arg("out", "output", "int8", (self.n, win.out_h, win.out_w, self.c)),
        )

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        batch = "" if self.n == 1 else f"n{self.n}_"
        return f"max_pool2d_{batch}{self.h}x{self.w}x{self.c}_{self.window.label}"

    @property
    def partly_read(self) -> tuple[str, ...]:
        return ("x",)

    @classmethod
    def examples(cls, config: DeviceConfig) -> Sequence[MaxPool2d]:
        D, dim = config.dim, _matrix_side(config)
        return (
            cls(1, 5, 7, 3, 2, 2, dim=dim),
            cls(2, 9, 9, D + 1, 3, 2, (1, 1, 1, 1), dim=dim),
            cls(1, 4, 6, 2 * D, 2, 1, dim=dim),
            *with_pad_value(
                config, cls(1, 7, 8, D + 3, 3, 2, (0, 1, 1, 0), dim=dim, pad_value=-128)
            ),
        )

    def canonical(self) -> MaxPool2d:
        return replace(self, pad_value=self.window.canonical_pad_value)

    def padded(self, multiple: int) -> MaxPool2d:
        return replace(self, c=rounded_up(self.c, multiple))

    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        self.check_device(config)
        if self.dim is not None:
            return stepped_prim_func(self, config)
        requantize = kind_of(config).numbers.rule.expression
        D = config.dim
        N, H, W, C = self.n, self.h, self.w, self.c
        S, (PT, PL, _, _), size = self.stride, self.pad, self.size
        fill = self.window.fill
        OH, OW = self.window.out_h, self.window.out_w
        HP, WP = (OH - 1) * S + size, (OW - 1) * S + size
        CB = ceil_div(C, D)

        def window_maximum(a, n, cb, y, x, c):
            result = None
            for i in range(size):
                for j in range(size):
                    element = a[n, cb, y * S + i, x * S + j, c]
                    result = element if result is None else tirx.Max(result, element)
            return result

        @script.prim_func(s_tir=True)
        def max_pool2d(
            x: T.Buffer((N, H, W, C), "int8"),
            out: T.Buffer((N, OH, OW, C), "int8"),
        ):
            T.func_attr({"tirx.noalias": True})
            with T.sblock("root"):
                a = T.sblock_alloc_buffer((N, CB, HP, WP, D), "int32")
                for n, cb, h, w, c in T.grid(N, CB, HP, WP, D):
                    with T.sblock("load_a"):
                        vn, vcb, vh, vw, vc = T.axis.remap("SSSSS", [n, cb, h, w, c])
                        a[vn, vcb, vh, vw, vc] = T.if_then_else(
                            vh >= PT
                            and vh < H + PT
                            and vw >= PL
                            and vw < W + PL
                            and vcb * D + vc < C,
                            T.cast(x[vn, vh - PT, vw - PL, vcb * D + vc], "int32"),
                            fill,
                        )
                for n, cb, y, xx, c in T.grid(N, CB, OH, OW, D):
                    with T.sblock("store"):
                        vn, vcb, vy, vx, vc = T.axis.remap("SSSSS", [n, cb, y, xx, c])
                        T.reads(a[vn, vcb, vy * S : vy * S + size, vx * S : vx * S + size, vc])
                        T.writes(out[vn, vy, vx, vcb * D + vc])
                        if vcb * D + vc < C:
                            out[vn, vy, vx, vcb * D + vc] = requantize(
                                window_maximum(a, vn, vcb, vy, vx, vc), 1.0
                            )

        return max_pool2d

    def check_device(self, config: DeviceConfig) -> None:
        """Raise OperatorError where neither stores of a device nor its steps pool such windows, or
        its loads cannot pad so."""
        self.window.check_device(config)
        features = kind_of(config).features(config)
        if self.dim is not None:
            check_step(self.op, config)
            for operation in (Elementwise.FILL, Elementwise.MAX):
                if features.elementwise_step(operation) is None:
                    raise OperatorError(
                        f"{config.name} has no step for {operation.value} of rows of sums, and "
                        "its stores pool nothing"
                    )
            return
        pooled = features.pooled_stores
        if pooled is None:
            raise OperatorError(f"the stores of {config.name} pool nothing")
        for name, value, limit in (
            ("size", self.size, pooled.max_size),
            ("stride", self.stride, pooled.max_stride),
        ):
            if value > limit:
                raise OperatorError(f"max_pool2d: {name} is {value}, the store unit takes {limit}")

    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        return self.window.views(inputs["x"]).max(axis=(-2, -1))

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        inputs = super().sample(generator)
        if self.dim is not None:
            inputs["identity"] = np.eye(self.dim, dtype=np.int8)
        return inputs

    @classmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        return [_spelling(numbers, is_padded) for is_padded in (True, False)]

    @classmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        attrs, data = match.call.attrs, match.part("data")
        if str(attrs.layout) != "NHWC" or str(attrs.out_layout) != "NHWC":
            return f"layout {attrs.layout} -> {attrs.out_layout}, the device computes NHWC"
        if attr_ints(attrs.dilation) != (1, 1):
            return f"dilation {attr_ints(attrs.dilation)}, the device has 1 only"
        size, strides = attr_ints(attrs.pool_size), attr_ints(attrs.strides)
        own = attr_ints(attrs.padding)
        if size[0] != size[1] or strides[0] != strides[1]:
            return f"window {size} with strides {strides}, the device pools squares"
        if max(own) >= size[0]:
            return f"padding {own} as large as the window {size}"
        # It pads by the least element, for which 0 does where none is negative.
        least = kind_of(config).numbers.least_element
        padding = match.padding(own, 0 if is_non_negative(match.graph, data) else least)
        if isinstance(padding, str):
            return padding
        n, h, w, c = shape_of(data)
        dim, value = _matrix_side(config), padding.value if any(padding.pad) else 0
        operator = cls(n, h, w, c, size[0], strides[0], padding.pad, dim, value)
        if operator.args[-1].shape != shape_of(match.root):
            return "ceil_mode counts windows that reach past the padding"
        identity = () if dim is None else (np.eye(dim, dtype=np.int8),)
        return Accepted(operator, (data, *identity))

    def pool_shape(self, config: DeviceConfig) -> PoolShape:
        window, blocks = self.window, ceil_div(self.c, config.dim)
        shape = PoolShape(self.n, blocks, window.out_h, window.out_w, self.size, self.stride)
        if self.dim is None:
            return shape
        steps, matrices = window.steps(config), n_matrices(self.c, self.dim)
        return replace(shape, out_w=steps.number, rows=steps.rows, matrices=matrices)


def _spelling(numbers: Numbers, is_padded: bool) -> Spelling:
    parts = {"data": element(numbers)}
    data = padded(parts["data"], parts, numbers) if is_padded else parts["data"]
    anchor = is_op("relax.nn.max_pool2d")(data)
    return Spelling("relax.nn.max_pool2d", anchor, anchor, parts, ("data",))


def _matrix_side(config: DeviceConfig) -> int | None:
    """The side of the identity matrix of a device whose steps pool, None where stores do."""
    pools = kind_of(config).features(config).pooled_stores is not None
    return None if pools else config.dim


_KEEPS_SIGN = frozenset(
    {
        "relax.nn.max_pool2d",
        "relax.reshape",
        "relax.permute_dims",
        "relax.flatten",
        "relax.squeeze",
        "relax.expand_dims",
        "relax.astype",
        "relax.round",
    }
)


def is_non_negative(graph: Graph, value: relax.Expr) -> bool:
    """Whether ``value`` is known to have no negative element, whatever the inputs."""
    call = graph.producer(value)
    name = op_name(call)
    if name == "relax.nn.relu":
        return True
    if name == "relax.maximum":
        constants = [constant_of(arg) for arg in call.args]
        return any(values is not None and bool((values >= 0).all()) for values in constants)
    if name == "relax.clip":
        return float(call.args[1].value) >= 0
    # A conversion keeps the sign unless it wraps: from clipped float32, or to something wider.
    if name == "relax.astype" and dtype_of(call) == "int8":
        return op_name(graph.producer(call.args[0])) == "relax.clip" and is_non_negative(
            graph, call.args[0]
        )
    return name in _KEEPS_SIGN and is_non_negative(graph, call.args[0])
