"""What a whole network takes: its layers one after another, and the host's own parts, beside what
each layer takes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich import box
from rich.console import Console
from rich.table import Table

from .device import DeviceConfig
from .export.calls import calls_of
from .export.errors import ExportError
from .export.network import place
from .export.times import NetworkTime, network_time
from .partition import Partitioned
from .tuning.layer_table import print_layers
from .tuning.report import LayerResult


def time_of(model: str, config: DeviceConfig, partitioned: Partitioned) -> NetworkTime:
    """What a network with scheduled kernels takes, as `export.times.network_time` says it.

    Raises ExportError for one with parts whose time is not known.
    """
    return network_time(place(model, config, calls_of(partitioned.mod)))


def with_sequence(
    results: Sequence[LayerResult], time: NetworkTime, partitioned: Partitioned
) -> list[LayerResult]:
    """The results with what each run of a layer takes in the network."""
    cycles = {layer.region: layer.cycles for layer in time.layers if layer.region is not None}
    runs: dict[object, list[int]] = {}
    for region in partitioned.regions:
        runs.setdefault(region.operator.canonical(), []).append(cycles[region.name])
    return [replace(each, in_sequence=tuple(runs[each.layer.operator])) for each in results]


def print_network(
    console: Console,
    results: Sequence[LayerResult],
    config: DeviceConfig,
    time: NetworkTime | None,
    has_host_columns: bool = False,
    runner: str = "",
) -> None:
    """The table of layers, and below it what all of them take, where that is known."""
    print_layers(console, results, config, has_host_columns, runner)
    if time is not None:
        console.print()
        console.print(time_table(results, config, time, runner))


def time_table(
    results: Sequence[LayerResult], config: DeviceConfig, time: NetworkTime, runner: str = ""
) -> Table:
    """What layers take alone, one after another, and with the host's own parts, for 80 columns.
    `runner` is what measured them alone, empty for the simulator."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("the whole network")
    table.add_column("cycles", justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)

    def row(text: str, cycles: int) -> None:
        table.add_row(text, f"{cycles:,}", f"{cycles / config.clock_khz:.2f}")

    alone = sum(result.layer.count * result.cycles for result in results)
    n_host = sum(not layer.is_on_device for layer in time.layers)
    by = f", measured by {runner}" if runner else ", caches cold"
    row(f"layers, each alone{by}", alone)
    simulated = ", simulated" if runner else ""
    row(f"layers in sequence, with what the L2 then holds{simulated}", time.device_cycles)
    if n_host:
        parts = f"its {n_host} own parts" if n_host > 1 else "its own part"
        row(f"the host: {parts}, an estimate", time.host_cycles)
        table.add_section()
        row("layers in sequence, and the host", time.device_cycles + time.host_cycles)
    return table


def said_unknown(error: ExportError) -> str:
    """Why the time of a network is not known, as a line."""
    return f"what layers take one after another is not known: {error}"
