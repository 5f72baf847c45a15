"""Functions of one element as tables of int8, computed by the functions themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax

from ...host import build_host, run_host
from ...integer.table import int8_values
from ...relax_graph import Graph, constant_of
from .groups import Elementwise, Group


def tables(graph: Graph, groups: Sequence[Group]) -> list[tuple[int, ...]]:
    """For each group around an `Elementwise`, what it makes of each int8."""
    results = [_dequantized(group) for group in groups]
    computed = [index for index, group in enumerate(groups) if _bindings(group)]
    if computed:
        functions = build_host(_functions(graph, [groups[index] for index in computed]))
        outputs = run_host(functions, *(results[index] for index in computed))
        for index, output in zip(computed, outputs, strict=True):
            results[index] = output
    made = []
    for group, result in zip(groups, results, strict=True):
        # As relax.quantize: divided, rounded half to even, moved, cut off.
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(result / np.float32(group.numbers.scale[0]))
            steps = steps + np.float32(group.numbers.zero_point[0])
        steps = np.nan_to_num(np.clip(steps, -128, 127), nan=0.0)
        made.append(tuple(int(step) for step in np.clip(steps, group.low, group.high)))
    return made


def _bindings(group: Group) -> tuple[relax.Var, ...]:
    assert isinstance(group.core, Elementwise)
    return group.core.bindings


def _dequantized(group: Group) -> np.ndarray:
    (operand,) = group.core.operands
    centred = int8_values().astype(np.int32) - operand.zero_point
    return (centred.astype(np.float32) * operand.scale).astype(np.float32)


def _functions(graph: Graph, groups: Sequence[Group]) -> relax.IRModule:
    """One function of all: a parameter of 256 values and a result for each."""
    builder = relax.BlockBuilder()
    type_of_all = relax.TensorType((len(int8_values()),), "float32")
    params = [relax.Var(f"values_{index}", type_of_all) for index in range(len(groups))]
    with builder.function("main", params):
        with builder.dataflow():
            results = []
            for param, group in zip(params, groups, strict=True):
                assert isinstance(group.core, Elementwise)
                results.append(_copied(builder, graph, group.core, param))
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    return builder.get()


def _copied(
    builder: relax.BlockBuilder, graph: Graph, core: Elementwise, param: relax.Var
) -> relax.Expr:
    made: dict[relax.Var, relax.Expr] = {}

    def argument(expr: relax.Expr) -> relax.Expr:
        if not isinstance(expr.ty, relax.TensorType):
            return expr
        array = constant_of(graph.producer(expr))
        if array is not None:
            return relax.const(array.reshape(()), str(array.dtype))
        # All views of a core are of one tensor.
        return made.get(expr, param)

    for var in core.bindings:
        call = graph.value[var]
        copied = relax.Call(call.op, [argument(arg) for arg in call.args], call.attrs, call.ty_args)
        made[var] = builder.emit(copied)
    return made[core.anchor]
