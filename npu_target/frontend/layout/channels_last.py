"""Images with their channels last, whatever layout a file has them in."""

from __future__ import annotations

from tvm import relax
from tvm.ir import IRModule

from ...relax_graph import Graph, op_name, rebuild, replace_function
from . import lines
from .forms import Forms
from .rules import RULES


def channels_last(mod: IRModule, name: str = "main") -> IRModule:
    """``mod`` with convolutions and pools of function ``name`` as NHWC, kernels as HWIO.

    Parameters and results keep their layout. One-dimensional convolutions and pools become
    two-dimensional ones of height 1. Works on float functions and on those with
    ``relax.quantize`` and ``relax.dequantize``.

    Raises :class:`~npu_target.relax_graph.GraphError` for a function that is not a straight line.
    """
    graph = Graph(mod, name)
    forms = Forms(graph)

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        forms.begin(builder, values)
        call = graph.value[var]
        if isinstance(call, relax.TupleGetItem):
            forms.take_item(var, call)
        else:
            name = op_name(call) or ""
            rules = [table[name] for table in (lines.RULES, RULES) if name in table]
            if not any(rule(forms, var, call) for rule in rules):
                forms.keep(var)
        if var in graph.output_vars:
            forms.plain(var)

    return relax.transform.DeadCodeElimination()(replace_function(mod, name, rebuild(graph, emit)))
