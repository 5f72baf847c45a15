"""What each layer of a network that comes quantized costs, computed exactly and by the device's own
numbers: cycles of the device, instructions of its host."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tvm import relax
from tvm.ir import IRModule

from ..device import DeviceConfig
from ..export.calls import calls_of, is_device
from ..export.errors import ExportError
from ..export.host_functions import host_function
from ..numerics import Decided, Layer
from ..numerics.decide import named_operations
from ..numerics.parts import Part, part_module, parts
from ..numerics.products import product_of
from ..partition import Partitioned, partition
from ..relax_graph import Graph, copy_binding, op_name, rebuild, replace_function
from ..tuning.choose import Chooser
from ..tuning.layers import layers_of

# What is behind all layers, and what is none of them.
REST = "(the rest)"


@dataclass(frozen=True)
class Cost:
    """cycles : of the device. instructions : of its host's core, about so many; None where the
    host computes something that has no C."""

    cycles: int = 0
    instructions: int | None = 0

    def __add__(self, other: Cost) -> Cost:
        known = self.instructions is not None and other.instructions is not None
        instructions = (self.instructions or 0) + (other.instructions or 0)
        return Cost(self.cycles + other.cycles, instructions if known else None)


@dataclass(frozen=True)
class LayerCost:
    """What one run of a layer costs, with what prepares its inputs and nothing else needs. Of what
    is no layer, a pool say, ``layer`` is None."""

    name: str
    layer: Layer | None
    cost: Cost


class LayerCosts:
    """Of one module, decided in several ways, by the schedules that ``chooser`` gives."""

    def __init__(
        self,
        config: DeviceConfig,
        chooser: Chooser,
        progress: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._config = config
        self._chooser = chooser
        self._progress = progress
        self._parts: list[tuple[str, Part]] | None = None
        self._costs: dict[tuple[str, Layer | None, bool], Cost] = {}

    def of(self, decided: Decided) -> list[LayerCost]:
        """In the order of the network; each way of a layer is computed once.

        Raises as :meth:`npu_target.tuning.choose.Chooser.results` does.
        """
        if self._parts is None:
            self._parts = self._taken_apart(decided)
        layers = {layer.name: layer for layer in decided.layers}
        found = []
        for name, part in self._parts:
            layer = layers.get(name)
            is_asked_for = not decided.host.isdisjoint(var.name for var in part.bindings)
            key = name, layer, is_asked_for
            if key not in self._costs:
                self._progress(name)
                self._costs[key] = self._cost(decided, part)
            found.append(LayerCost(name, layer, self._costs[key]))
        return found

    def _taken_apart(self, decided: Decided) -> list[tuple[str, Part]]:
        """Parts with names: those of layers, and of what else the device computes, as far as the
        network has a name for its result."""
        graph = decided.network.graph
        by_name = {var.name: var for var in graph.order}
        names = {layer.name for layer in decided.layers}
        ends: dict[relax.Var, str] = {}
        sums: set[str] = set()
        for each in named_operations(decided.network):
            ends[each.var] = each.var.name
            product = product_of(graph, each.inputs[0])
            if not isinstance(product, str):
                sums |= {var.name for var in product.bindings}
        for members in _regions(partition(decided.mod, self._config)):
            end = by_name.get(members[-1])
            if end is not None and sums.isdisjoint(members):
                ends.setdefault(end, next((name for name in members if name in names), end.name))
        # A product of the network's own spelling that is on the host.
        for name in names.difference(ends.values()):
            ends[by_name[name]] = name
        return [(REST if part.end is None else ends[part.end], part) for part in parts(graph, ends)]

    def _cost(self, decided: Decided, part: Part) -> Cost:
        mod = part_module(decided.network, decided.forms, part)
        made = partition(mod, self._config, self._chooser.device_function, decided.host)
        layers = layers_of(region.operator for region in made.regions)
        cycles = sum(result.cycles * result.layer.count for result in self._chooser.results(layers))
        return Cost(cycles, _host_instructions(made))


def total(costs: Collection[LayerCost]) -> Cost:
    """Of the whole network."""
    return sum((each.cost for each in costs), Cost())


def _regions(partitioned: Partitioned) -> list[list[str]]:
    """The names of the bindings of each region, in order."""
    members: dict[str, list[str]] = {}
    for decision in partitioned.decisions:
        if decision.region is not None:
            members.setdefault(decision.region, []).append(decision.name)
    return list(members.values())


def _host_instructions(partitioned: Partitioned) -> int | None:
    try:
        calls = calls_of(_without_last_reshapes(partitioned.mod))
        return sum(
            host_function(call.function, calls.functions[call.function]).instructions
            for call in calls.calls
            if call.function is not None and not is_device(calls.functions[call.function])
        )
    except ExportError:
        return None


def _without_last_reshapes(mod: IRModule) -> IRModule:
    """Within a network a reshape is no copy, as what a function returns it is one."""
    graph = Graph(mod)

    def source(expr: relax.Expr) -> relax.Expr:
        while op_name(graph.producer(expr)) == "relax.reshape":
            expr = graph.producer(expr).args[0]
        return expr

    several = isinstance(graph.output, relax.Tuple)
    results = [source(end) for end in (graph.output.fields if several else [graph.output])]
    graph.output = relax.Tuple(results) if several else results[0]

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        copy_binding(builder, var, values, graph)

    return replace_function(mod, graph.name, rebuild(graph, emit))
