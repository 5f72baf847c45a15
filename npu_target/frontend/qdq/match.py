"""Finding the groups of a function: from a quantize back to the dequantizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax

from ...integer import Quantization
from ...relax_graph import Graph, attr_ints, dtype_of, is_tensor, op_name, shape_of
from .bias import bias_steps
from .constants import constant
from .groups import Add, Average, Concat, Core, Elementwise, Group, Multiply, Operand, Product
from .numbers import SHIFTS, tensor_quantization
from .values import COMMUTING, Values, scalar

ELEMENTWISE = frozenset(
    f"relax.{name}"
    for name in (
        *("abs", "add", "clip", "divide", "erf", "exp", "floor", "log", "maximum", "minimum"),
        *("multiply", "negative", "nn.gelu", "nn.gelu_tanh", "nn.leakyrelu", "nn.relu"),
        *("nn.silu", "nn.softplus", "power", "round", "rsqrt", "sigmoid", "sqrt", "square"),
        *("subtract", "tanh"),
    )
)
_MOST_BINDINGS = 64  # of a function of one element


class Matcher:
    """Groups of ``values.graph``. ``remarks`` says what was rounded on the way."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._graph: Graph = values.graph
        self.remarks: list[str] = []

    def group(self, var: relax.Var) -> Group | None:
        """The group whose result is ``var``, a quantize of one scale and zero point."""
        numbers = tensor_quantization(self._graph, var)
        start = self._graph.value[var].args[0]
        if numbers is None or not isinstance(start, relax.Var):
            return None
        found = self._from(start, numbers)
        if found is None:
            return None
        core, low, high, moves = found
        unsigned = SHIFTS[dtype_of(var)] != 0
        return Group(core, numbers, unsigned, low, high, tuple(reversed(moves)))

    def _from(
        self, start: relax.Var, numbers: Quantization
    ) -> tuple[Core, int, int, list[relax.Var]] | None:
        """The core behind bounds and moves, which nobody else may read."""
        low, high, current = -128, 127, start
        moves: list[relax.Var] = []
        while True:
            core = self.core(current)
            if core is not None:
                return core, low, high, moves
            value = self._graph.value.get(current)
            bounds = self._bounds(value)
            if self._graph.sole_user(current) is None or value is None:
                return None
            if bounds is not None:
                # What comes later has the last word.
                least, most = (_quantized(bound, numbers) for bound in bounds)
                low, high = (min(max(bound, low), high) for bound in (least, most))
            elif op_name(value) in COMMUTING:
                moves.append(current)
            else:
                return None
            current = value.args[0]
            if not isinstance(current, relax.Var):
                return None

    def core(self, var: relax.Var) -> Core | None:
        """The operation on views whose float result is ``var``."""
        if var in self._values.views:
            return Elementwise(var, (self._view(var),), var, ())
        call = self._graph.value.get(var)
        name = op_name(call)
        if call is None or name is None or not is_tensor(var) or dtype_of(var) != "float32":
            return None
        return self._biased(var, call) or self._plain(var, call, name) or self._elementwise(var)

    def _plain(self, var: relax.Var, call: relax.Call, name: str) -> Core | None:
        rules: dict[str, Callable[[relax.Var, relax.Call], Core | None]] = {
            "relax.add": self._sum,
            "relax.subtract": self._sum,
            "relax.multiply": self._multiplied,
            "relax.mean": self._mean,
            "relax.nn.avg_pool2d": self._pool,
            "relax.nn.adaptive_avg_pool2d": self._pool,
            "relax.concat": self._concat,
        }
        if name in ("relax.nn.conv2d", "relax.matmul"):
            return self.product(var)
        return rules[name](var, call) if name in rules else None

    # ---- products --------------------------------------------------------------------------

    def product(self, var: relax.Var) -> Product | None:
        """A convolution or product of matrices of views and constants, whose sums have one scale,
        or one for each index of the last axis."""
        call = self._graph.value.get(var)
        if call is None or dtype_of(var) != "float32":
            return None
        if op_name(call) not in ("relax.nn.conv2d", "relax.matmul"):
            return None
        left, right = call.args
        data = self._operand(left)
        weight = (
            None
            if isinstance(right, relax.Var) and right in self._values.views
            else (constant(self._graph, right))
        )
        if op_name(call) == "relax.nn.conv2d":
            layouts = (call.attrs.data_layout, call.attrs.kernel_layout, call.attrs.out_layout)
            if weight is None or layouts != ("NHWC", "HWIO", "NHWC"):
                return None
        if weight is not None and data is not None and data.var is not None:
            scale = None if weight.scale is None else weight.scale_along_last_axis()
            if scale is None or weight.values.ndim < 2 or weight.values.dtype.itemsize != 1:
                return None
            if weight.as_int8() is None:
                return None
            return Product(var, (data,), call, data.scale * scale, weight)
        other = self._operand(right)
        if data is None or other is None or min(len(shape_of(left)), len(shape_of(right))) < 2:
            return None
        return Product(var, (data, other), call, np.array([data.scale * other.scale]))

    def _biased(self, var: relax.Var, call: relax.Call) -> Product | None:
        if op_name(call) != "relax.add":
            return None
        for source, added in (call.args, reversed(call.args)):
            bias = constant(self._graph, added)
            if bias is None or not isinstance(source, relax.Var):
                continue
            product = self.product(source)
            if product is None or self._graph.sole_user(source) is None:
                continue
            if shape_of(source) != shape_of(var):
                continue
            steps = bias_steps(bias, product.scale, shape_of(var))
            if steps is None:
                continue
            if steps.remark is not None:
                self.remarks.append(f"{source.name}: {steps.remark}")
            return Product(
                source, product.operands, product.call, product.scale, product.weight, steps.values
            )
        return None

    # ---- other operations ------------------------------------------------------------------

    def _sum(self, var: relax.Var, call: relax.Call) -> Add | None:
        operands = self._operands(call.args)
        if operands is None:
            return None
        return Add(var, operands, op_name(call) == "relax.subtract")

    def _multiplied(self, var: relax.Var, call: relax.Call) -> Multiply | None:
        operands = self._operands(call.args)
        return None if operands is None else Multiply(var, operands)

    def _operands(self, args: list[relax.Expr]) -> tuple[Operand, ...] | None:
        """Two operands of which one at least is no constant, and none a scalar."""
        found = [self._operand(arg) for arg in args]
        operands = [operand for operand in found if operand is not None]
        if len(operands) != len(found) or all(operand.var is None for operand in operands):
            return None
        if any(scalar_like(operand) for operand in operands):
            return None
        return tuple(operands)

    def _mean(self, var: relax.Var, call: relax.Call) -> Average | None:
        operand = self._operand(call.args[0])
        if operand is None or operand.var is None or call.attrs.axis is None:
            return None
        rank = len(shape_of(call.args[0]))
        axes = tuple(sorted(axis % rank for axis in attr_ints(call.attrs.axis)))
        return Average(var, (operand,), axes, bool(call.attrs.keepdims))

    def _pool(self, var: relax.Var, call: relax.Call) -> Average | None:
        operand = self._operand(call.args[0])
        if operand is None or operand.var is None:
            return None
        attrs = call.attrs
        if attrs.layout != "NHWC" or attrs.out_layout != "NHWC":
            return None
        whole = shape_of(call.args[0])[1:3]
        if op_name(call) == "relax.nn.adaptive_avg_pool2d":
            return Average(var, (operand,), (1, 2)) if shape_of(var)[1:3] == (1, 1) else None
        padded = any(attr_ints(attrs.padding))
        if attr_ints(attrs.pool_size) == whole and not padded:
            return Average(var, (operand,), (1, 2))
        # Windows that count different numbers of pixels have no one scale.
        if attrs.ceil_mode or any(extent != 1 for extent in attr_ints(attrs.dilation)):
            return None
        if padded and not attrs.count_include_pad:
            return None
        return Average(var, (operand,), pool=call)

    def _concat(self, var: relax.Var, call: relax.Call) -> Concat | None:
        fields = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else []
        found = [self._operand(item) for item in fields]
        operands = tuple(operand for operand in found if operand is not None)
        if len(operands) != len(found) or any(operand.var is None for operand in operands):
            return None
        return Concat(var, operands, int(call.attrs.axis))

    def _elementwise(self, var: relax.Var) -> Elementwise | None:
        """Bindings of which each is a function of one element of one and the same view."""
        bindings: set[relax.Var] = set()
        views: set[relax.Var] = set()
        pending = [var]
        while pending:
            current = pending.pop()
            if current in self._values.views:
                views.add(current)
                continue
            call = self._graph.value.get(current)
            if call is None or op_name(call) not in ELEMENTWISE or len(bindings) > _MOST_BINDINGS:
                return None
            if dtype_of(current) != "float32" or shape_of(current) != shape_of(var):
                return None
            bindings.add(current)
            for arg in call.args:
                if not isinstance(arg.ty, relax.TensorType) or scalar(self._graph, arg) is not None:
                    continue
                if not isinstance(arg, relax.Var):
                    return None
                if arg not in bindings:
                    pending.append(arg)
        sources = {self._values.source(view) for view in views}
        numbers = {self._values.views[view] for view in views}
        if len(sources) != 1 or len(numbers) != 1:
            return None
        view = min(views, key=self._graph.position.__getitem__)
        if shape_of(view) != shape_of(var):
            return None
        order = tuple(sorted(bindings, key=self._graph.position.__getitem__))
        return Elementwise(var, (self._view(view),), view, order)

    def _view(self, var: relax.Var) -> Operand:
        return Operand(var, self._values.views[var], var in self._values.unsigned)

    def _operand(self, expr: relax.Expr) -> Operand | None:
        if isinstance(expr, relax.Var) and expr in self._values.views:
            return self._view(expr)
        found = constant(self._graph, expr)
        if found is None or found.scale is None or found.zero_point is None:
            return None
        dtype = str(found.values.dtype)
        if dtype not in SHIFTS or (found.scale.size, found.zero_point.size) != (1, 1):
            return None
        shift = SHIFTS[dtype]
        numbers = Quantization(
            (float(found.scale.reshape(-1)[0]),), (int(found.zero_point.reshape(-1)[0]) - shift,)
        )
        array = (found.values.astype(np.int16) - shift).astype(np.int8)
        return Operand(None, numbers, shift != 0, array)

    def _bounds(self, value: relax.Expr | None) -> tuple[float, float] | None:
        name = op_name(value)
        if value is None or name is None:
            return None
        if name == "relax.nn.relu":
            return 0.0, math.inf
        if name == "relax.clip":
            low, high = (float(bound.value) for bound in value.args[1:])
            return (low, high) if low <= high else None
        if name in ("relax.maximum", "relax.minimum"):
            bound = scalar(self._graph, value.args[1])
            if bound is None or math.isnan(bound):
                return None
            return (bound, math.inf) if name == "relax.maximum" else (-math.inf, bound)
        return None


def scalar_like(operand: Operand) -> bool:
    return operand.array is not None and operand.array.size == 1


def _quantized(bound: float, numbers: Quantization) -> int:
    """Where a bound lies in int8: rounding never decreases."""
    if math.isinf(bound):
        return 127 if bound > 0 else -128
    steps = np.rint(np.float32(bound) / np.float32(numbers.scale[0])) + numbers.zero_point[0]
    return int(np.clip(steps, -128, 127))
