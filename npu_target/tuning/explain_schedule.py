"""The tables of `--explain-schedule`: where each copy of a layer's program was placed, and what of
it no steps hide, with the reason and the cycles that it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.table import Table
from tvm.s_tir import Schedule

from ..codegen.report import Entry, ScheduleReport
from ..codegen_tir import build_program
from ..device import DeviceConfig
from ..pipeline_options import DEFAULT, PipelineOptions
from ..topi.routed import route_name
from .report import LayerResult


def explain_schedules(
    console: Console,
    results: Iterable[LayerResult],
    config: DeviceConfig,
    schedule: Callable[[LayerResult], Schedule],
    pipeline: PipelineOptions = DEFAULT,
) -> None:
    """Print a table for each layer's program; `schedule` gives the layer's chosen schedule."""
    for result in results:
        func = schedule(result).mod["main"]
        route = route_name(func)
        if route is not None:
            console.print(f"{result.layer.name}: {result.source}: the device's {route} places it")
            continue
        report = ScheduleReport()
        build_program(func, config, result.layer.name, report, pipeline)
        console.print(placement_table(f"{result.layer.name}: {result.source}", report.entries))
        console.print(summary(report.entries, result.cycles), highlight=False)


def placement_table(title: str, entries: Sequence[Entry]) -> Table:
    """One row for each nest of steps and for copies that are placed alike."""
    table = Table(title=title, title_justify="left")
    for heading in ("nest", "engine", "what"):
        table.add_column(heading, overflow="fold")
    for heading in ("commands", "cycles"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("where", "not hidden because"):
        table.add_column(heading, overflow="fold")
    table.add_column("at most", justify="right", no_wrap=True)
    nest = None
    for entry in entries:
        if nest not in (None, entry.nest):
            table.add_section()
        nest = entry.nest
        table.add_row(
            str(entry.nest) if entry.nest else "-",
            entry.engine.value,
            entry.what,
            f"{entry.commands:,}" if entry.commands else "",
            f"{entry.cycles:,.0f}" if entry.commands else "",
            entry.place,
            entry.reason,
            f"{entry.exposed_cycles:,.0f}" if entry.reason else "",
            style="yellow" if entry.reason else None,
        )
    return table


def summary(entries: Sequence[Entry], cycles: int) -> str:
    """What is not hidden of a layer's cycles."""
    exposed = min(cycles, sum(entry.exposed_cycles for entry in entries))
    return f"of {cycles:,} cycles at most {exposed:,.0f} are copies that no steps hide"
