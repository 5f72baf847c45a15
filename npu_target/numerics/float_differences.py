"""How far a network that was quantized here is from the one in float: each layer by itself, and one
after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass, field

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..device.requantize import INT8_MAX, INT8_MIN
from ..host import build_host, run_host
from ..quantize import Quantized
from ..quantize.calibrate import with_outputs
from ..quantize.quantizer import float_form
from ..relax_graph import Graph, copy_binding, rebuild, replace_function, vars_in
from .differences import Apart, Results, Sample


@dataclass(frozen=True)
class TensorDifference:
    """A tensor, int8 times its scale, against the float network's.

    alone : computed of the float network's own values, quantized, up to the int8 tensors before it.
    accumulated : in the network, behind others that differ.
    """

    alone: Apart = field(default_factory=Apart)
    accumulated: Apart = field(default_factory=Apart)


@dataclass(frozen=True)
class FloatDifferences:
    """tensors : by the name of the operation that a tensor comes from. outputs : of the whole
    network."""

    tensors: dict[str, TensorDifference]
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
    labels, scales = list(quantized.variables), quantized.scales
    sides = [
        _watched(mod, [quantized.variables[label][side] for label in labels])
        for side, mod in enumerate((float_form(reference), quantized.mod))
    ]
    layers = _Layers(quantized)
    tensors = {label: TensorDifference() for label in labels}
    ends: list[Apart] = []
    for number, sample in enumerate(inputs):
        right, found = (run_host(executable, *sample) for executable in sides)
        values = dict(zip(labels, right, strict=False))
        alone = layers.run(sample, values)
        for label, other in zip(labels, found, strict=False):
            apart, scale = tensors[label], scales[label]
            apart.accumulated.add(values[label], other.astype("float64") * scale)
            apart.alone.add(values[label], alone[label].astype("float64") * scale)
        right, found = right[len(labels) :], found[len(labels) :]
        ends = ends or [Apart() for _ in right]
        for end, value, other in zip(ends, right, found, strict=True):
            end.add(value, other)
        results(number, right, found)
    return FloatDifferences(tensors, tuple(ends))


class _Layers:
    """Each layer of a quantized network, of tensors that it is given."""

    def __init__(self, quantized: Quantized) -> None:
        graph = Graph(quantized.mod)
        self._scales = quantized.scales
        self._names = {label: name for label, (_, name) in quantized.variables.items()}
        # Two tensors may be the same integers, worth more or less: once is enough.
        self._labels = {name: label for label, name in self._names.items()}
        self._tensors = [var for var in graph.order if var.name in self._labels]
        self._executable = build_host(_layer_by_layer(quantized.mod, graph, self._tensors))

    def run(self, sample: Sample, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The int8 tensors, each computed of the quantized ``values`` of those before it; both by
        their labels."""
        labels = [self._labels[var.name] for var in self._tensors]
        given = [_quantized(values[label], self._scales[label]) for label in labels]
        found = run_host(self._executable, *sample, *given)
        by_name = {var.name: value for var, value in zip(self._tensors, found, strict=True)}
        return {label: by_name[name] for label, name in self._names.items()}


def _quantized(values: np.ndarray, scale: float) -> np.ndarray:
    steps = np.rint(values.astype("float64") / scale)
    return np.clip(steps, INT8_MIN, INT8_MAX).astype("int8")


def _watched(mod: IRModule, names: Iterable[str]) -> relax.VMExecutable:
    """A network whose outputs are tensors by their names, before its own."""
    graph = Graph(mod)
    by_name = {var.name: var for var in (*graph.params, *graph.order)}
    watched = [by_name[name] for name in names]
    return build_host(with_outputs(mod, graph, [*watched, *vars_in(graph.output)]))


def _layer_by_layer(mod: IRModule, graph: Graph, tensors: Collection[relax.Var]) -> IRModule:
    """A function of the network's parameters and of ``tensors``, which it computes, each of those
    given before it."""
    made = copy(graph)
    given = {var: relax.Var(f"{var.name}_given", var.ty) for var in tensors}
    computed = {var: relax.Var(f"{var.name}_computed", var.ty) for var in tensors}
    made.params = [*graph.params, *given.values()]
    made.output = relax.Tuple(list(computed.values()))

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        copy_binding(builder, var, values, graph)
        if var in given:
            values[computed[var]] = values[var]
            values[var] = values[given[var]]

    return replace_function(mod, graph.name, rebuild(made, emit))
