"""A function with some of its operations spelled anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvm import relax
from tvm.ir import IRModule

from ..relax_graph import Graph, copy_binding, is_tensor, rebuild, replace_function, vars_in

Values = Mapping[relax.Var, relax.Expr]


@dataclass(frozen=True)
class Replacement:
    """Bindings spelled anew.

    root : the variable whose value `emit` gives, from the new values of those before it.
    interior : the bindings that are no longer needed, the root's included.
    """

    root: relax.Var
    interior: frozenset[relax.Var]
    emit: Callable[[relax.BlockBuilder, Values], relax.Expr]


# What an operation at a variable becomes; None for one that stays.
Rewrite = Callable[[Graph, relax.Var], Replacement | None]


def rewritten(mod: IRModule, rewrites: Sequence[Rewrite], name: str = "main") -> IRModule:
    """``mod`` with each of ``rewrites`` done, one after the other, wherever it applies."""
    for rewrite in rewrites:
        graph = Graph(mod, name)
        static = [var for var in graph.order if _is_static(graph, var)]
        found = [made for var in static if (made := rewrite(graph, var)) is not None]
        if found:
            mod = _replaced(mod, graph, found)
    return mod


def _is_static(graph: Graph, var: relax.Var) -> bool:
    """Whether the shapes of a binding's tensors are known."""
    tensors = [var, *vars_in(graph.value[var])]
    return all(is_tensor(value) for value in tensors if isinstance(value.ty, relax.TensorType))


def _replaced(mod: IRModule, graph: Graph, found: Sequence[Replacement]) -> IRModule:
    by_root = {replacement.root: replacement for replacement in found}
    dropped = {var for replacement in found for var in replacement.interior}

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        if var in by_root:
            values[var] = by_root[var].emit(builder, values)
        elif var not in dropped:
            copy_binding(builder, var, values, graph)

    return replace_function(mod, graph.name, rebuild(graph, emit))
