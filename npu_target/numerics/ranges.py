"""Between which numbers a tensor's integers lie, and which of them stands for 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..integer import operation_of
from ..relax_graph import Graph, constant_of, dtype_of, op_name

_MOVES = frozenset(
    {
        "relax.reshape",
        "relax.permute_dims",
        "relax.flatten",
        "relax.squeeze",
        "relax.expand_dims",
        "relax.strided_slice",
        "relax.nn.max_pool2d",
    }
)
_PAD = "relax.nn.pad"
_BOUNDS = {"relax.maximum": max, "relax.minimum": min}


class Range(NamedTuple):
    """From ``low`` to ``high``, both included."""

    low: int
    high: int

    def with_value(self, value: int) -> Range:
        """One that holds a value as well."""
        return Range(min(self.low, value), max(self.high, value))

    def plus(self, values: np.ndarray) -> Range:
        """Of its numbers plus any of the values."""
        return Range(self.low + int(values.min()), self.high + int(values.max()))


def range_of(mod: IRModule, graph: Graph, value: relax.Expr) -> Range:
    """Of an integer tensor, whatever the network is given."""
    producer = graph.producer(value)
    found = operation_of(mod, producer)
    if found is not None and hasattr(found[0], "low") and hasattr(found[0], "high"):
        return Range(found[0].low, found[0].high)
    name = op_name(producer)
    if name in _MOVES:
        return range_of(mod, graph, producer.args[0])
    if name == _PAD:
        return range_of(mod, graph, producer.args[0]).with_value(_pad_value(producer))
    if name in _BOUNDS:
        for one, other in (producer.args, reversed(producer.args)):
            constant = constant_of(other)
            if constant is not None and constant.size == 1:
                inside = range_of(mod, graph, one)
                return Range(*(_BOUNDS[name](end, int(constant.item())) for end in inside))
    ends = np.iinfo(dtype_of(value))
    return Range(int(ends.min), int(ends.max))


def zero_point_of(
    mod: IRModule, graph: Graph, value: relax.Expr, known: Mapping[str, int]
) -> int | None:
    """Which integer of a tensor stands for 0; None if nothing says so. ``known`` by variables'
    names."""
    if isinstance(value, relax.Var) and value.name in known:
        return known[value.name]
    producer = graph.producer(value)
    found = operation_of(mod, producer)
    if found is not None:
        # Where an operation has those of its operands as well, the result's is the last.
        *_, zero_point = getattr(found[0], "zero_points", (None,))
        return getattr(found[0], "zero_point", zero_point)
    name = op_name(producer)
    if name == _PAD:
        return _pad_value(producer)
    if name in _MOVES or name in _BOUNDS:
        varying = [arg for arg in producer.args if constant_of(arg) is None]
        return zero_point_of(mod, graph, varying[0], known)
    return None


def _pad_value(call: relax.Call) -> int:
    return int(call.attrs.pad_value)
