"""How far results are from those they should be: each layer by itself, and one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..host import build_host, run_host
from ..relax_graph import copy_binding, rebuild, replace_function
from .decide import Decided, named_operations
from .forms import Form
from .layer import Layer, Network
from .ranges import zero_point_of

Sample = Sequence[np.ndarray]


@dataclass
class Apart:
    """Two tensors compared, over any number of samples.

    elements : how many were compared. differ : how many of them are not the same. most : the
        largest difference. signal, noise : sums of squares, of the right values and of the
        differences.
    """

    elements: int = 0
    differ: int = 0
    most: float = 0.0
    signal: float = 0.0
    noise: float = 0.0

    def add(self, right: np.ndarray, found: np.ndarray, zero_point: int = 0) -> None:
        """Take in two tensors of one shape, whose ``zero_point`` stands for 0."""
        right = right.astype(np.float64)
        with np.errstate(invalid="ignore"):
            # The same infinity twice is no difference.
            apart = np.where(right == found, 0.0, np.abs(right - found))
        self.elements += right.size
        self.differ += int(np.count_nonzero(apart))
        self.most = max(self.most, float(apart.max(initial=0.0)))
        self.signal += float(((right - zero_point) ** 2).sum())
        self.noise += float((apart**2).sum())

    @property
    def snr_db(self) -> float:
        """Signal to noise in decibels; infinite where nothing differs."""
        if self.noise == 0:
            return float("inf")
        return 10 * float(np.log10(self.signal / self.noise)) if self.signal else float("-inf")


@dataclass(frozen=True)
class LayerDifference:
    """A layer's results against the exact network's.

    alone : of the layer given the exact network's own inputs to it.
    accumulated : of the layer where it stands, behind others that differ.
    """

    layer: Layer
    alone: Apart
    accumulated: Apart


@dataclass(frozen=True)
class Differences:
    """layers : in order, those that are named operations. outputs : of the whole network."""

    layers: tuple[LayerDifference, ...]
    outputs: tuple[Apart, ...]


Results = Callable[[int, Sequence[np.ndarray], Sequence[np.ndarray]], None]
"""Is called with a sample's number, the exact network's outputs and the decided one's."""


def differences(
    decided: Decided, inputs: Iterable[Sample], results: Results = lambda *_: None
) -> Differences:
    """Run the exact and the decided network on the host, layer by layer."""
    network, forms = decided.network, decided.forms
    names = {layer.name: layer for layer in decided.layers}
    watched = [each.var for each in named_operations(network)]
    exact = build_host(_watched(network, forms, watched, is_accumulated=False))
    chosen = build_host(_watched(network, forms, watched, is_accumulated=True))
    changed = [var for var in watched if var in forms]
    zero_points = {var: _zero_point(network, var) for var in watched}
    alone = {var: Apart() for var in watched}
    accumulated = {var: Apart() for var in watched}
    outputs: list[Apart] = []
    for number, sample in enumerate(inputs):
        right, found = run_host(exact, *sample), run_host(chosen, *sample)
        made = dict(zip(changed, right[len(watched) :], strict=False))
        for var, value, other in zip(watched, right, found, strict=False):
            alone[var].add(value, made.get(var, value), zero_points[var])
            accumulated[var].add(value, other, zero_points[var])
        ends, other_ends = right[len(watched) + len(changed) :], found[len(watched) :]
        outputs = outputs or [Apart() for _ in ends]
        for apart, value, other in zip(outputs, ends, other_ends, strict=True):
            apart.add(value, other)
        results(number, ends, other_ends)
    layers = (LayerDifference(names[v.name], alone[v], accumulated[v]) for v in watched)
    return Differences(tuple(layers), tuple(outputs))


def _zero_point(network: Network, var: relax.Var) -> int:
    return zero_point_of(network.mod, network.graph, var, network.zero_points) or 0


def _watched(
    network: Network,
    forms: Mapping[relax.Var, Form],
    watched: Sequence[relax.Var],
    is_accumulated: bool,
) -> IRModule:
    """A network whose outputs are the values of ``watched`` before its own.

    is_accumulated : forms take the place of what they compute. Otherwise they are computed beside
        it, of the exact network's values, and are further outputs between the two.
    """
    graph = copy(network.graph)
    beside: dict[relax.Var, relax.Var] = {}
    if not is_accumulated:
        beside = {var: relax.Var(var.name, var.ty) for var in watched if var in forms}
    replaced = {var for form in forms.values() for var in form.replaced} if is_accumulated else ()

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        if var in forms:
            values[beside.get(var, var)] = forms[var].emit(builder, network.rule, values)
        if var not in replaced and (var not in forms or not is_accumulated):
            copy_binding(builder, var, values, graph)

    ends = graph.output.fields if isinstance(graph.output, relax.Tuple) else [graph.output]
    graph.output = relax.Tuple([*watched, *beside.values(), *ends])
    mod = replace_function(network.mod, graph.name, rebuild(graph, emit))
    return relax.transform.DeadCodeElimination([graph.name])(mod)
