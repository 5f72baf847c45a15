"""Functions of one tensor, element by element: what of a float network is a table of int8.

Which operators work by elements is not listed here: TVM says it of the loops that an operator
becomes. So any composition of such operators with numbers beside one tensor is found, however an
activation is spelled.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import IRModule

from ..integer.table import int8_values
from ..relax_graph import (
    Graph,
    constant_of,
    dtype_of,
    is_tensor,
    op_name,
    shape_of,
    substitute,
    vars_in,
)

# What AnnotateTIROpPattern calls a function whose results each depend on elements at their place.
_ELEMENTWISE_PATTERN = 0
_ENTRIES = int8_values().size


@dataclass(frozen=True)
class ElementFunction:
    """``root`` as a function of the elements of ``source``: the bindings that compute it, in
    order, its own the last."""

    source: relax.Var
    bindings: tuple[relax.Var, ...]

    @property
    def root(self) -> relax.Var:
        return self.bindings[-1]

    def module(self, graph: Graph) -> IRModule:
        """A module whose ``main`` computes it of 256 elements, in a tensor of as many axes."""
        return _module(graph, self.source, self.bindings)


class Elementwise:
    """Finds the functions of one tensor in a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[relax.Var, bool] = {}

    def functions(
        self, source: relax.Var, first: relax.Var, done: Container[relax.Var]
    ) -> list[ElementFunction]:
        """Those of ``source`` whose results others use, ``first`` being the first binding that
        belongs to one; none where ``first`` is no function of the source alone. Bindings that
        are ``done`` belong to none."""
        members: dict[relax.Var, None] = {}
        graph = self._graph
        for var in graph.order[graph.position[first] :]:
            used = set(vars_in(graph.value[var]))
            if var in done or not used or not used <= {source, *members}:
                continue
            if self.is_elementwise(var):
                members[var] = None
        if first not in members:
            return []
        roots = [
            var
            for var in members
            if dtype_of(var) == "float32"
            and (
                var in graph.output_vars
                or any(user not in members for user in graph.users.get(var, []))
            )
        ]
        return [ElementFunction(source, self._needed(members, root)) for root in roots]

    def is_elementwise(self, var: relax.Var) -> bool:
        """Whether a binding is an operator on tensors of the same shape, and single numbers, of
        which each element of the result depends on the elements at its place."""
        if var not in self._known:
            self._known[var] = self._compute_is_elementwise(var)
        return self._known[var]

    def _compute_is_elementwise(self, var: relax.Var) -> bool:
        call = self._graph.value[var]
        if op_name(call) is None or not is_tensor(var):
            return False
        tensors = list(vars_in(call))
        shape = shape_of(var)
        if not all(is_tensor(value) and shape_of(value) == shape for value in tensors):
            return False
        constants = (constant_of(argument) for argument in call.args)
        if any(values is not None and values.size != 1 for values in constants):
            return False
        return _has_elementwise_loops(self._graph, var)

    def _needed(self, members: Container[relax.Var], root: relax.Var) -> tuple[relax.Var, ...]:
        needed, pending = {root}, [root]
        while pending:
            for used in vars_in(self._graph.value[pending.pop()]):
                if used in members and used not in needed:
                    needed.add(used)
                    pending.append(used)
        return tuple(sorted(needed, key=self._graph.position.__getitem__))


def _has_elementwise_loops(graph: Graph, var: relax.Var) -> bool:
    """What TVM says of the operator on 256 elements."""
    sources = list(dict.fromkeys(vars_in(graph.value[var])))
    try:
        mod = _module(graph, sources, (var,))
    except (tvm_ffi.error.Error, ValueError, TypeError):
        return False  # its attributes are about other shapes
    mod = relax.transform.AnnotateTIROpPattern()(relax.transform.LegalizeOps()(mod))
    functions = [f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc)]
    legalized = all(op_name(call) == "relax.call_tir" for call in Graph(mod).value.values())
    return legalized and all(f.attrs["op_pattern"] == _ELEMENTWISE_PATTERN for f in functions)


def _module(
    graph: Graph, sources: relax.Var | list[relax.Var], bindings: tuple[relax.Var, ...]
) -> IRModule:
    sources = sources if isinstance(sources, list) else [sources]
    builder = relax.BlockBuilder()
    params = [
        relax.Var(
            f"x{index}",
            relax.TensorType((*[1] * (len(shape_of(source)) - 1), _ENTRIES), dtype_of(source)),
        )
        for index, source in enumerate(sources)
    ]
    values: dict[relax.Var, relax.Expr] = dict(zip(sources, params, strict=True))
    with builder.function("main", params):
        with builder.dataflow():
            for var in bindings:
                values[var] = builder.emit(substitute(graph.value[var], values))
            result = builder.emit_output(values[bindings[-1]])
        builder.emit_func_output(result)
    return builder.get()
