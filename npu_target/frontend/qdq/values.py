"""Which values of a function are integers with a scale, without being computed in float."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ...integer import Quantization, operation_of
from ...relax_graph import Graph, constant_of, dtype_of, op_name, vars_in
from .constants import constant
from .numbers import SHIFTS, tensor_quantization

# Move elements, or choose among them: the same on integers, whatever they are worth.
_MOVES = frozenset(
    f"relax.{name}"
    for name in (
        *("broadcast_to", "concat", "expand_dims", "flatten", "image.resize2d", "nn.max_pool2d"),
        *("nn.pad", "nn.relu", "permute_dims", "repeat", "reshape", "split", "squeeze"),
        *("strided_slice", "tile"),
    )
)
# Those that go before a quantization as well as behind it.
COMMUTING = frozenset(
    f"relax.{name}"
    for name in (
        *("broadcast_to", "expand_dims", "flatten", "nn.max_pool2d", "permute_dims", "reshape"),
        *("squeeze", "strided_slice"),
    )
)


class Values:
    """What the values of ``graph``, a function of ``mod``, are.

    views : float values that are integers of one scale and zero point (those of int8), by
        variable; of a tuple, what all its fields are.
    unsigned : of them, those whose integers the file has as uint8.
    """

    def __init__(self, mod: IRModule, graph: Graph) -> None:
        self.graph = graph
        self._mod = mod
        self.views: dict[relax.Var, Quantization] = {}
        self.unsigned: set[relax.Var] = set()
        self.stored: set[relax.Var] = {var for var in graph.params if dtype_of(var) in SHIFTS}
        for var in graph.order:
            self._add(var)

    def source(self, view: relax.Var) -> relax.Var:
        """The integers behind a dequantize; any other view itself."""
        call = self.graph.value[view]
        return call.args[0] if op_name(call) == "relax.dequantize" else view

    def is_move(self, var: relax.Var) -> bool:
        """Whether its elements are some of its arguments'."""
        value = self.graph.value[var]
        if isinstance(value, relax.TupleGetItem):
            return True
        name = op_name(value)
        if name == "relax.image.resize2d":
            return str(value.attrs.method) == "nearest_neighbor"
        if name == "relax.nn.pad":
            return str(value.attrs.pad_mode) != "constant" or float(value.attrs.pad_value) == 0.0
        return name in _MOVES

    def _add(self, var: relax.Var) -> None:
        value = self.graph.value[var]
        name = op_name(value)
        if name == "relax.quantize":
            if tensor_quantization(self.graph, var) and constant(self.graph, var) is None:
                self.stored.add(var)
        elif name == "relax.dequantize":
            source = value.args[0]
            numbers = tensor_quantization(self.graph, var)
            if numbers is None or not isinstance(source, relax.Var):
                return
            if dtype_of(var) == "float32" and constant(self.graph, source) is None:
                self._view(var, numbers, dtype_of(source) == "uint8")
        elif name == "relax.call_tir":
            # Of a named one the numbers are its own.
            named = operation_of(self._mod, value) is not None
            if named and dtype_of(var) in SHIFTS and self.stored.issuperset(vars_in(value)):
                self.stored.add(var)
        elif self.is_move(var):
            self._add_move(var, list(dict.fromkeys(vars_in(value))))

    def _add_move(self, var: relax.Var, sources: list[relax.Var]) -> None:
        value = self.graph.value[var]
        if not sources or _has_constant_fields(value):
            return
        if all(source in self.views for source in sources):
            numbers = {self.views[source] for source in sources}
            if len(numbers) == 1:
                unsigned = any(source in self.unsigned for source in sources)
                self._view(var, numbers.pop(), unsigned)
            return
        # Integers whose zero point is not known here.
        if op_name(value) in ("relax.nn.relu", "relax.nn.pad"):
            return
        if all(source in self.stored for source in sources) and _same(map(dtype_of, sources)):
            self.stored.add(var)

    def _view(self, var: relax.Var, numbers: Quantization, unsigned: bool) -> None:
        self.views[var] = numbers
        if unsigned:
            self.unsigned.add(var)


def scalar(graph: Graph, expr: relax.Expr) -> float | None:
    """The value of a constant of one element."""
    array = constant_of(graph.producer(expr))
    if array is None or array.size != 1:
        return None
    return float(np.asarray(array).reshape(-1)[0])


def _has_constant_fields(value: relax.Expr) -> bool:
    tuples = [arg for arg in getattr(value, "args", ()) if isinstance(arg, relax.Tuple)]
    return any(constant_of(field) is not None for item in tuples for field in item.fields)


def _same(items: Iterable[str]) -> bool:
    return len(set(items)) == 1
