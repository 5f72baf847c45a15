"""The table of a network's layers, for terminals of 80 columns and of more."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from ..device import DeviceConfig
from .report import TUNED, LayerResult, quantity

# From here on there is room for all columns, which `cli.columns` explains.
_WIDE_COLUMNS = 112
_WIDEST_COLUMNS = 128


def print_layers(
    console: Console,
    results: Sequence[LayerResult],
    config: DeviceConfig,
    has_host_columns: bool = False,
    runner: str = "",
) -> None:
    """One line a layer, the network's total, and that as time; on request, what the host does for
    each. `runner` is what measured, empty for the simulator."""
    is_wide = console.width >= _WIDE_COLUMNS
    in_sequence = console.width >= _WIDEST_COLUMNS
    console.print(layer_table(results, config, has_host_columns, runner, is_wide, in_sequence))
    cycles = sum(r.layer.count * r.cycles for r in results)
    if cycles:
        milliseconds = cycles / config.clock_khz
        console.print(f"{milliseconds:.2f} ms on the device at {config.clock_khz / 1000:g} MHz")


def layer_table(
    results: Sequence[LayerResult],
    config: DeviceConfig,
    has_host_columns: bool = False,
    runner: str = "",
    is_wide: bool = True,
    in_sequence: bool = False,
) -> Table:
    """The table by itself; `is_wide` is for at least 112 columns, else 80 are enough; with
    `in_sequence`, for at least 128, what runs take in the network on average, where that is known.
    """
    in_sequence = in_sequence and any(result.in_sequence for result in results)
    by = f", measured by {runner}" if runner else ""
    table = Table(
        title=f"{config.name}: cycles of one run{by}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1 if is_wide else 0, 0, 0),
        show_edge=False,
    )
    table.add_column("layer", overflow="fold")  # in two lines rather than not all of it
    default = ("default",) if is_wide else ()
    use = "array use" if is_wide else "array\nuse"
    sequence = ("in sequence",) if in_sequence else ()
    for heading in ("count", "MACs", *default, "cycles", *sequence, "speedup", use):
        table.add_column(heading, justify="right", no_wrap=is_wide)
    table.add_column("schedule")
    if is_wide:
        table.add_column("packed")
    if has_host_columns:
        for heading in ("host/cmd", "loop code", "once"):
            table.add_column(heading, justify="right", no_wrap=is_wide)
    for result in results:
        table.add_row(
            result.layer.name,
            str(result.layer.count),
            quantity(result.layer.macs),
            *((f"{result.default_cycles:,}",) if is_wide else ()),
            f"{result.cycles:,}",
            *((_in_sequence(result),) if in_sequence else ()),
            f"{result.default_cycles / result.cycles:.2f}x",
            f"{result.utilization(config):.1%}" if result.layer.macs else "-",
            _schedule(result),
            *((", ".join(result.packed or ()) or "-",) if is_wide else ()),
            *(_host_cells(result) if has_host_columns else ()),
        )
    macs = sum(r.layer.count * r.layer.macs for r in results)
    before = sum(r.layer.count * r.default_cycles for r in results)
    cycles = sum(r.layer.count * r.cycles for r in results)
    if cycles:
        table.add_section()
        table.add_row(
            "total",
            str(sum(r.layer.count for r in results)),
            quantity(macs),
            *((f"{before:,}",) if is_wide else ()),
            f"{cycles:,}",
            *((f"{sum(sum(r.in_sequence or ()) for r in results):,}",) if in_sequence else ()),
            f"{before / cycles:.2f}x",
            f"{macs / (cycles * config.peak_macs):.1%}",
            "",
        )
    return table


def _in_sequence(result: LayerResult) -> str:
    runs = result.in_sequence
    return f"{round(sum(runs) / len(runs)):,}" if runs else "-"


def _schedule(result: LayerResult) -> str:
    text = result.source if result.route is None else f"{result.source}: {result.route}"
    if result.source == TUNED and result.is_new:
        text = text.replace(TUNED, f"{TUNED} now", 1)
    return f"{text}, simulated" if result.is_simulated else text


def _host_cells(result: LayerResult) -> list[str]:
    columns = result.host_columns()
    if not columns:
        return []
    return [
        f"{columns['host_instructions_per_command']:.1f}",
        f"{columns['loop_code_bytes']:,}",
        f"{columns['once_share']:.1%}",
    ]
