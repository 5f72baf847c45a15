"""What becomes integer and what stays float: one step for each operation that remains.

A step is a float operation, or a group of bindings that the device has one integer operation
for: a convolution with its bias and ReLU is one step. No numbers are decided here.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from tvm import relax

from ..relax_graph import (
    Graph,
    attr_ints,
    constant_of,
    dtype_of,
    is_tensor,
    op_name,
    shape_of,
    vars_in,
)


class Kind(Enum):
    """How a step is computed."""

    FLOAT = "float"  # as it was, on dequantized inputs
    CONV2D = "conv2d"
    DENSE = "dense"  # matmul with a constant second operand
    MATMUL = "matmul"
    ADD = "add"
    AVERAGE = "average"  # over both axes of an image: a sum and one scale
    SAME_SCALE = "same_scale"  # moves or compares int8 values: exact with the scale unchanged


@dataclass(frozen=True)
class Step:
    """``root`` is the variable whose value the step gives; ``anchor`` names its main operation;
    ``relu`` is where a ReLU at its end cuts off above, None without one."""

    kind: Kind
    anchor: relax.Var
    root: relax.Var
    inputs: tuple[relax.Var, ...]
    relu: float | None = None
    weight: np.ndarray | None = field(default=None, repr=False)
    bias: np.ndarray | None = field(default=None, repr=False)


_SAME_SCALE_OPS = frozenset(
    {
        "relax.nn.max_pool2d",
        "relax.nn.relu",
        "relax.reshape",
        "relax.permute_dims",
        "relax.flatten",
        "relax.squeeze",
        "relax.expand_dims",
    }
)


def make_plan(graph: Graph, keep_float: Container[str] = ()) -> list[Step]:
    """The steps of ``graph`` in order. Bindings named in ``keep_float`` stay as they are."""
    planner = _Planner(graph, keep_float)
    return [step for var in graph.order if (step := planner.step(var)) is not None]


class _Planner:
    def __init__(self, graph: Graph, keep_float: Container[str]) -> None:
        self._graph = graph
        self._keep_float = keep_float
        self._integer: set[relax.Var] = set()  # values that exist in int8
        self._done: set[relax.Var] = set()  # bindings inside a step that began earlier

    def step(self, var: relax.Var) -> Step | None:
        """The step that begins at ``var``; None if ``var`` is part of an earlier one."""
        if var in self._done:
            return None
        step = self._integer_step(var)
        if step is None:
            value = self._graph.value[var]
            return Step(Kind.FLOAT, var, var, tuple(dict.fromkeys(vars_in(value))))
        self._integer.add(step.root)
        return step

    def _integer_step(self, var: relax.Var) -> Step | None:
        call = self._graph.value[var]
        name = op_name(call)
        if name is None or var.name in self._keep_float or not _is_float_tensor(var):
            return None
        inputs = tuple(dict.fromkeys(vars_in(call)))
        if not all(_is_float_tensor(value) for value in inputs):
            return None
        if name == "relax.nn.conv2d" or name == "relax.matmul":
            return self._product(var, call, name)
        if name == "relax.add" and _is_residual(call):
            root, relu = self._with_relu(var)
            return Step(Kind.ADD, var, root, (call.args[0], call.args[1]), relu)
        if _is_image_average(name, call):
            root, relu = self._with_relu(var)
            return Step(Kind.AVERAGE, var, root, inputs, relu)
        if name == "relax.nn.max_pool2d" or (
            name in _SAME_SCALE_OPS and inputs[0] in self._integer
        ):
            return Step(Kind.SAME_SCALE, var, var, inputs)
        return None

    def _product(self, var: relax.Var, call: relax.Call, name: str) -> Step | None:
        data, weight = call.args
        constant = constant_of(weight)
        if not isinstance(data, relax.Var):
            return None
        if name == "relax.nn.conv2d":
            if constant is None:
                return None
            kind, channel_axis = Kind.CONV2D, str(call.attrs.out_layout).find("C")
        elif constant is None:
            if min(len(shape_of(data)), len(shape_of(weight))) < 2:
                return None
            kind, channel_axis = Kind.MATMUL, len(shape_of(var)) - 1
        else:
            if constant.ndim != 2 or len(shape_of(data)) < 2:
                return None
            kind, channel_axis = Kind.DENSE, len(shape_of(var)) - 1
        inputs = (data,) if constant is not None else (data, weight)
        root, bias = self._with_bias(var, channel_axis)
        root, relu = self._with_relu(root)
        return Step(kind, var, root, inputs, relu, constant, bias)

    def _with_bias(self, var: relax.Var, channel_axis: int) -> tuple[relax.Var, np.ndarray | None]:
        """``var`` or, if all that happens to it is the addition of a bias, the sum."""
        user = self._next(var)
        if user is None or op_name(self._graph.value[user]) != "relax.add":
            return var, None
        left, right = self._graph.value[user].args
        bias = constant_of(right if left == var else left)
        if bias is None or shape_of(user) != shape_of(var):
            return var, None
        shape = (1,) * (len(shape_of(var)) - bias.ndim) + bias.shape
        if any(extent != 1 for axis, extent in enumerate(shape) if axis != channel_axis):
            return var, None
        full = list(shape)
        full[channel_axis] = shape_of(var)[channel_axis]
        self._done.add(user)
        return user, np.broadcast_to(bias.reshape(shape), full)

    def _with_relu(self, var: relax.Var) -> tuple[relax.Var, float | None]:
        user = self._next(var)
        cut = None if user is None else _relu_cut(self._graph.value[user])
        if user is None or cut is None:
            return var, None
        self._done.add(user)
        return user, cut

    def _next(self, var: relax.Var) -> relax.Var | None:
        user = self._graph.sole_user(var)
        return None if user is None or user.name in self._keep_float else user


def _relu_cut(call: relax.Expr) -> float | None:
    """The largest value that a ReLU lets through, infinity for one without a limit; None for a call
    that is no ReLU."""
    if op_name(call) == "relax.clip":
        low, high = (float(bound.value) for bound in call.args[1:])
        return high if low == 0.0 < high else None
    return math.inf if op_name(call) == "relax.nn.relu" else None


def _is_float_tensor(var: relax.Var) -> bool:
    return is_tensor(var) and dtype_of(var) == "float32"


def _is_residual(call: relax.Call) -> bool:
    left, right = call.args
    both_variable = isinstance(left, relax.Var) and isinstance(right, relax.Var)
    return both_variable and shape_of(left) == shape_of(right)


def _is_image_average(name: str, call: relax.Call) -> bool:
    """Whether the call averages each whole channel of a four-dimensional image."""
    if not name.startswith("relax.nn.") and name != "relax.mean":
        return False
    if not isinstance(call.args[0], relax.Var) or len(shape_of(call.args[0])) != 4:
        return False
    if name == "relax.mean":
        return call.attrs.axis is not None and sorted(
            axis % 4 for axis in attr_ints(call.attrs.axis)
        ) in ([1, 2], [2, 3])
    if name not in ("relax.nn.adaptive_avg_pool2d", "relax.nn.avg_pool2d"):
        return False
    layout = str(call.attrs.layout)
    if layout not in ("NHWC", "NCHW") or str(call.attrs.out_layout) != layout:
        return False
    image = [shape_of(call.args[0])[layout.find(axis)] for axis in "HW"]
    output = [int(call.ty.shape[layout.find(axis)]) for axis in "HW"]
    if math.prod(output) != 1:
        return False
    if name == "relax.nn.adaptive_avg_pool2d":
        return True
    unpadded = not any(attr_ints(call.attrs.padding))
    return unpadded and list(attr_ints(call.attrs.pool_size)) == image


def average_axes(call: relax.Call) -> tuple[tuple[int, int], bool]:
    """(axes, keepdims) of a call that :func:`make_plan` made an ``AVERAGE`` step of."""
    if op_name(call) == "relax.mean":
        first, second = sorted(axis % 4 for axis in attr_ints(call.attrs.axis))
        return (first, second), bool(call.attrs.keepdims)
    layout = str(call.attrs.layout)
    return (layout.find("H"), layout.find("W")), True
