"""A network, or a part of one, with forms in the place of what they replace."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import relax
from tvm.ir import IRModule

from ..relax_graph import Graph, copy_binding, rebuild, replace_function
from .forms import Form
from .layer import Network


def with_forms(network: Network, graph: Graph, forms: Mapping[relax.Var, Form]) -> IRModule:
    """The network's module with ``main`` as ``graph`` has it, which may be a part of its own one.

    forms : by the variable whose result they compute.
    """
    replaced = {var for form in forms.values() for var in form.replaced}

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        if var in forms:
            values[var] = forms[var].emit(builder, network.rule, values)
        elif var not in replaced:
            copy_binding(builder, var, values, graph)

    # Functions of operations that are computed otherwise now go.
    mod = replace_function(network.mod, graph.name, rebuild(graph, emit))
    return relax.transform.DeadCodeElimination([graph.name])(mod)
