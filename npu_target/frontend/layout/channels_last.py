"""Images with their channels last, whatever layout a file has them in."""

from __future__ import annotations

from tvm import relax
from tvm.ir import IRModule

from ...relax_graph import Graph, op_name, rebuild, replace_function
from .forms import Forms
from .rules import RULES


def channels_last(mod: IRModule, name: str = "main") -> IRModule:
    """``mod`` with convolutions and pools of function ``name`` as NHWC, kernels as HWIO.

    Parameters and results keep their layout. A one-dimensional convolution becomes a
    two-dimensional one of height 1. Works on float functions and on those with ``relax.quantize``
    and ``relax.dequantize``.

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
            rule = RULES.get(op_name(call) or "")
            if rule is None or not rule(forms, var, call):
                forms.keep(var)
        if var in graph.output_vars:
            forms.plain(var)

    return relax.transform.DeadCodeElimination()(replace_function(mod, name, rebuild(graph, emit)))
