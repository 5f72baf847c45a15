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

from ..relax_graph import Graph, constant_of, dtype_of, is_tensor, op_name, shape_of, vars_in
from .averages import is_image_average
from .demand import wanted_in_int8
from .elementwise import ElementFunction, Elementwise
from .moves import is_product_of_tensors, joins, keeps_scale

_RELU6_MAX = 6.0


class Kind(Enum):
    """How a step is computed."""

    FLOAT = "float"  # as it was, on dequantized inputs
    CONV2D = "conv2d"
    DENSE = "dense"  # matmul with a constant second operand
    MATMUL = "matmul"
    ADD = "add"  # or subtract: of two tensors
    MULTIPLY = "multiply"  # of two tensors, element by element
    AVERAGE = "average"  # over both axes of an image: a sum and one scale
    TABLE = "table"  # a function of each element of one tensor
    SAME_SCALE = "same_scale"  # moves or compares int8 values: exact with the scale unchanged
    JOIN = "join"  # the same of several tensors, or of one and a number: once they have one scale


@dataclass(frozen=True)
class Step:
    """``root`` is the variable whose value the step gives; ``anchor`` names its main operation;
    ``inputs`` are the tensors that it takes as its kind does (there may be others, of integers);
    ``relu`` is where a ReLU at its end cuts off above, None without one; ``function`` is that of
    a table."""

    kind: Kind
    anchor: relax.Var
    root: relax.Var
    inputs: tuple[relax.Var, ...]
    relu: float | None = None
    weight: np.ndarray | None = field(default=None, repr=False)
    bias: np.ndarray | None = field(default=None, repr=False)
    function: ElementFunction | None = None


def make_plan(graph: Graph, keep_float: Container[str] = ()) -> list[Step]:
    """The steps of ``graph`` in order. Bindings named in ``keep_float`` stay as they are."""
    planner = _Planner(graph, keep_float)
    return [step for var in graph.order if (step := planner.step(var)) is not None]


class _Planner:
    def __init__(self, graph: Graph, keep_float: Container[str]) -> None:
        self._graph = graph
        self._keep_float = keep_float
        self._elementwise = Elementwise(graph)
        self._wanted = wanted_in_int8(graph, self._takes_int8)
        self._integer: set[relax.Var] = set()  # values that exist in int8
        self._done: set[relax.Var] = set()  # bindings inside a step that began elsewhere
        self._searched: set[relax.Var] = set()  # whose functions are known
        self._functions: dict[relax.Var, ElementFunction] = {}  # tables by their roots

    def step(self, var: relax.Var) -> Step | None:
        """The step that begins at ``var``; None if ``var`` is part of another one."""
        if var in self._done:
            return None
        step = self._integer_step(var)
        if var in self._done:
            return None
        if step is None:
            value = self._graph.value[var]
            return Step(Kind.FLOAT, var, var, tuple(dict.fromkeys(vars_in(value))))
        self._integer.add(step.root)
        return step

    def _takes_int8(self, var: relax.Var) -> bool | None:
        """As :data:`demand.Takes`."""
        call = self._graph.value[var]
        name = op_name(call)
        if name is None or var.name in self._keep_float:
            return False
        if not _is_float_tensor(var):  # such as a comparison, which chooses between elements
            return None if self._elementwise.is_elementwise(var) else False
        if self._product_kind(call, name) is not None:
            return True
        if is_residual(call) or is_image_average(name, call) or name == "relax.nn.max_pool2d":
            return True
        if keeps_scale(call) or joins(call) or is_product_of_tensors(call):
            return None
        return None if self._elementwise.is_elementwise(var) else False

    def _integer_step(self, var: relax.Var) -> Step | None:
        call = self._graph.value[var]
        name = op_name(call)
        if name is None or var.name in self._keep_float:
            return None
        kind = self._product_kind(call, name)
        if kind is not None:
            return self._product(var, call, kind)
        self._find_functions(var)
        if var in self._functions:
            function = self._functions[var]
            return Step(Kind.TABLE, var, var, (function.source,), function=function)
        if var in self._done or not _is_float_tensor(var):
            return None
        inputs = tuple(value for value in dict.fromkeys(vars_in(call)) if _is_float_tensor(value))
        if is_residual(call) and not self._integer.isdisjoint(inputs):
            root, relu = self._with_relu(var)
            return Step(Kind.ADD, var, root, (call.args[0], call.args[1]), relu)
        if is_image_average(name, call):
            root, relu = self._with_relu(var)
            return Step(Kind.AVERAGE, var, root, inputs, relu)
        if keeps_scale(call) and (name == "relax.nn.max_pool2d" or inputs[0] in self._integer):
            return Step(Kind.SAME_SCALE, var, var, inputs)
        if var in self._wanted and not self._integer.isdisjoint(inputs):
            if joins(call):
                return Step(Kind.JOIN, var, var, inputs)
            if is_product_of_tensors(call) and self._integer.issuperset(inputs):
                return Step(Kind.MULTIPLY, var, var, (call.args[0], call.args[1]))
        return None

    def _find_functions(self, var: relax.Var) -> None:
        """The tables of a tensor whose first binding is ``var``, and what is computed for nothing
        else."""
        sources = set(vars_in(self._graph.value[var]))
        if len(sources) != 1 or not self._integer - self._searched >= sources:
            return
        (source,) = sources
        if not self._elementwise.is_elementwise(var):
            return
        self._searched.add(source)
        found = [
            function
            for function in self._elementwise.functions(source, var, self._done)
            if self._is_table(function)
        ]
        self._functions.update((function.root, function) for function in found)
        inside = {binding for function in found for binding in function.bindings}
        inside -= self._functions.keys() | self._graph.output_vars
        for binding in sorted(inside, key=self._graph.position.__getitem__, reverse=True):
            users = self._graph.users[binding]
            if all(user in self._functions or user in self._done for user in users):
                self._done.add(binding)

    def _is_table(self, function: ElementFunction) -> bool:
        """Whether all that uses a function takes it in int8. A ReLU alone is a comparison."""
        kept = any(binding.name in self._keep_float for binding in function.bindings)
        alone = [op_name(self._graph.value[binding]) for binding in function.bindings]
        return function.root in self._wanted and not kept and alone != ["relax.nn.relu"]

    def _product_kind(self, call: relax.Call, name: str) -> Kind | None:
        """Of a convolution or a matrix product that has an integer form."""
        if name not in ("relax.nn.conv2d", "relax.matmul"):
            return None
        data, weight = call.args
        if not isinstance(data, relax.Var) or not all(map(_is_float_tensor, vars_in(call))):
            return None
        constant = constant_of(weight)
        if name == "relax.nn.conv2d":
            return None if constant is None else Kind.CONV2D
        if constant is None:
            return Kind.MATMUL if min(len(shape_of(data)), len(shape_of(weight))) >= 2 else None
        return Kind.DENSE if constant.ndim == 2 and len(shape_of(data)) >= 2 else None

    def _product(self, var: relax.Var, call: relax.Call, kind: Kind) -> Step:
        data, weight = call.args
        constant = constant_of(weight)
        channel_axis = len(shape_of(var)) - 1
        if kind is Kind.CONV2D:
            channel_axis = str(call.attrs.out_layout).find("C")
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
    name = op_name(call)
    if name == "relax.clip":
        low, high = (float(bound.value) for bound in call.args[1:])
        return high if low == 0.0 < high else None
    if name == "relax.maximum":
        numbers = [values for values in map(constant_of, call.args) if values is not None]
        return math.inf if numbers and numbers[0].size == 1 and not numbers[0].any() else None
    return {"relax.nn.relu": math.inf, "relax.nn.relu6": _RELU6_MAX}.get(name or "")


def _is_float_tensor(var: relax.Var) -> bool:
    return is_tensor(var) and dtype_of(var) == "float32"


def is_residual(call: relax.Call) -> bool:
    """Whether it adds, or subtracts, two tensors of the same shape."""
    if op_name(call) not in ("relax.add", "relax.subtract"):
        return False
    left, right = call.args
    both_variable = isinstance(left, relax.Var) and isinstance(right, relax.Var)
    return both_variable and shape_of(left) == shape_of(right)
