"""What each region of a partitioned network takes and gives, beside the network's result."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from npu_target.host import build_host, run_host
from npu_target.partition import Partitioned
from npu_target.relax_graph import (
    Graph,
    constant_of,
    copy_binding,
    op_name,
    rebuild,
    replace_function,
)


def with_outputs(partitioned: Partitioned, outputs: list[relax.Var]) -> IRModule:
    """The module with the values of `outputs`, then its own result."""
    graph = Graph(partitioned.mod)
    by_name = {var.name: var for var in graph.order + graph.params}
    graph.output = relax.Tuple([*(by_name[var.name] for var in outputs), graph.output])
    mod = rebuild(graph, lambda builder, var, values: copy_binding(builder, var, values, graph))
    return replace_function(partitioned.mod, "main", mod)


def region_calls(partitioned: Partitioned) -> dict[str, tuple[relax.Var, list[relax.Expr]]]:
    """For each region the variable that holds its result, and its arguments."""
    graph = Graph(partitioned.mod)
    calls = {}
    for var in graph.order:
        value = graph.value[var]
        if op_name(value) == "relax.call_tir":
            calls[value.args[0].name_hint] = (var, list(value.args[1].fields))
    return calls


def run_regions(
    partitioned: Partitioned, *inputs: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Every region's result by its name, and the network's, computed on the host."""
    calls = region_calls(partitioned)
    mod = with_outputs(partitioned, [var for var, _ in calls.values()])
    *found, result = run_host(build_host(mod), *inputs)
    return dict(zip(calls, found, strict=True)), result


def run_region_arguments(
    partitioned: Partitioned, *inputs: np.ndarray
) -> dict[str, tuple[list[np.ndarray], np.ndarray]]:
    """For each region its arguments, constants included, and its result."""
    calls = region_calls(partitioned)
    variables: dict[relax.Var, None] = {}
    for var, arguments in calls.values():
        variables.update(dict.fromkeys([*(a for a in arguments if constant_of(a) is None), var]))
    mod = with_outputs(partitioned, list(variables))
    arrays = dict(zip(variables, run_host(build_host(mod), *inputs), strict=False))
    return {
        name: (
            [arrays[a] if (value := constant_of(a)) is None else value for a in arguments],
            arrays[var],
        )
        for name, (var, arguments) in calls.items()
    }
