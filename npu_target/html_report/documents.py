"""What a report shows, as plain values: of a network with its schedules, or of its accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..accuracy.report import Report as AccuracyReport
from ..accuracy.report import to_json as accuracy_json
from ..device import DeviceConfig
from ..export.times import NetworkTime
from ..partition import Partitioned
from ..program import Program
from ..tuning.log import TuningLog
from ..tuning.report import LayerResult
from .about import device_entry, versions_entry
from .graph import graph_rows
from .layers import layer_entry
from .search import search_curves

Document = dict[str, Any]


def network_document(
    title: str,
    config: DeviceConfig,
    command: str,
    results: Sequence[LayerResult],
    program: Callable[[LayerResult], Program],
    partitioned: Partitioned | None,
    log: TuningLog | None = None,
    time: NetworkTime | None = None,
    runner: str = "",
    progress: Callable[[str], None] = lambda name: None,
) -> Document:
    """Of a network, or of those of its layers that were tuned.

    program : of a layer's chosen schedule. partitioned : the network, None for an operator alone.
    log : what was measured for it. time : of all layers one after another, where that is known.
    runner : what measured the cycles, empty for the simulator. progress : is called with each
    layer's name before its program is run.
    """
    layers = []
    for number, result in enumerate(results, start=1):
        progress(result.layer.name)
        layers.append(layer_entry(number, result, program(result), config))
    numbers = {result.layer.operator: n for n, result in enumerate(results, start=1)}
    graph: list[Document] = []
    cycles: dict[str, int] = {}  # of regions
    if partitioned is not None:
        regions = {
            region.name: numbers.get(region.operator.canonical()) for region in partitioned.regions
        }
        known = {name: number for name, number in regions.items() if number is not None}
        cycles = {name: results[number - 1].cycles for name, number in known.items()}
        graph = graph_rows(partitioned.decisions, known, cycles)
    names = [result.layer.name for result in results]
    return {
        **_frame(title, config, command),
        "runner": runner,
        "layers": layers,
        "totals": _totals(results, config),
        "graph": graph,
        "in_sequence": None if time is None else _in_sequence(time, cycles),
        "search": search_curves(log, names),
        "accuracy": None,
    }


def accuracy_document(report: AccuracyReport, config: DeviceConfig, command: str) -> Document:
    """Of how far each layer's numbers are from those that it should have."""
    return {
        **_frame(report.model, config, command),
        "runner": "",
        "layers": [],
        "totals": None,
        "graph": [],
        "in_sequence": None,
        "search": [],
        "accuracy": accuracy_json(report),
    }


def _frame(title: str, config: DeviceConfig, command: str) -> Document:
    return {"title": title, "device": device_entry(config), "versions": versions_entry(command)}


def _in_sequence(time: NetworkTime, alone: Mapping[str, int]) -> Document:
    """Each call with what its region takes `alone`, which of the host's parts is not known."""
    document = time.to_json()
    for call, layer in zip(document["layers"], time.layers, strict=True):
        call["alone_cycles"] = alone.get(layer.region) if layer.region is not None else None
    return document


def _totals(results: Sequence[LayerResult], config: DeviceConfig) -> dict[str, float]:
    """Of all layers, each as often as the network has it."""
    cycles = sum(result.layer.count * result.cycles for result in results)
    macs = sum(result.layer.count * result.layer.macs for result in results)
    return {
        "layers": sum(result.layer.count for result in results),
        "macs": macs,
        "default_cycles": sum(result.layer.count * result.default_cycles for result in results),
        "cycles": cycles,
        "utilization": macs / (cycles * config.peak_macs) if cycles else 0.0,
        "milliseconds": cycles / config.clock_khz,
    }
