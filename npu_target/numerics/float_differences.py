"""How far a network that was quantized here is from the one in float."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tvm.ir import IRModule

from ..host import build_host, run_host
from ..quantize import Quantized
from ..quantize.calibrate import with_outputs
from ..quantize.quantizer import float_form
from ..relax_graph import Graph, vars_in
from .differences import Apart, Results, Sample


@dataclass(frozen=True)
class FloatDifferences:
    """tensors : by the name of the operation that a tensor comes from, int8 times its scale
    against the float network's. outputs : of the whole network."""

    tensors: dict[str, Apart]
    outputs: tuple[Apart, ...]


def float_differences(
    reference: IRModule,
    quantized: Quantized,
    inputs: Iterable[Sample],
    results: Results = lambda *_: None,
) -> FloatDifferences:
    """Run a float network and what :func:`npu_target.quantize.quantize` made of it on the host.

    ``results`` is called with a sample's number, the float network's outputs and the quantized
    one's.
    """
    labels = list(quantized.variables)
    executables = []
    for side, mod in enumerate((float_form(reference), quantized.mod)):
        graph = Graph(mod)
        by_name = {var.name: var for var in (*graph.params, *graph.order)}
        watched = [by_name[quantized.variables[label][side]] for label in labels]
        outputs = list(vars_in(graph.output))
        executables.append(build_host(with_outputs(mod, graph, [*watched, *outputs])))
    tensors = {label: Apart() for label in labels}
    ends: list[Apart] = []
    for number, sample in enumerate(inputs):
        right, found = (run_host(executable, *sample) for executable in executables)
        for label, value, other in zip(labels, right, found, strict=False):
            tensors[label].add(value, other.astype("float64") * quantized.scales[label])
        right, found = right[len(labels) :], found[len(labels) :]
        ends = ends or [Apart() for _ in right]
        for apart, value, other in zip(ends, right, found, strict=True):
            apart.add(value, other)
        results(number, right, found)
    return FloatDifferences(tensors, tuple(ends))
