"""How far off each layer is, as a table and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ..numerics.differences import Apart, LayerDifference
from .ranks import TOPS, Ranks

# What a network that comes quantized is compared with.
ITS_INTEGERS = "its own integers"


@dataclass(frozen=True)
class Row:
    """A layer."""

    name: str
    where: str
    numbers: str
    why: str
    alone: Apart
    accumulated: Apart

    @classmethod
    def of(cls, found: LayerDifference) -> Row:
        """Of a network that comes quantized."""
        layer = found.layer
        return cls(
            layer.name, layer.where, layer.form, layer.reason, found.alone, found.accumulated
        )


@dataclass(frozen=True)
class Report:
    """What was found. ``reference`` says against what."""

    model: str
    device: str
    reference: str
    samples: int
    rows: tuple[Row, ...]
    outputs: tuple[Apart, ...]
    ranks: Ranks


def print_report(console: Console, report: Report) -> None:
    """A line a layer, then the network's outputs and its classes."""
    count = "1 input" if report.samples == 1 else f"{report.samples} inputs"
    title = f"{report.model} by the numbers of {report.device} against {report.reference}, {count}"
    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("\nlayer", overflow="fold", min_width=11)
    table.add_column("\nwhere", no_wrap=True)
    table.add_column("\nnumbers", min_width=8)
    is_integer = report.reference == ITS_INTEGERS
    alone = ("differ", "most") if is_integer else ("most", "dB")
    network = ("differ", "most", "dB") if is_integer else ("most", "dB")
    headings = [f"alone:\n{alone[0]}", *(f"\n{more}" for more in alone[1:])]
    headings += [f"network:\n{network[0]}", *(f"\n{more}" for more in network[1:])]
    for heading in ("\nelements", *headings):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in report.rows:
        elements = f"{row.accumulated.elements:,}"
        ways = (*_cells(row.alone, alone), *_cells(row.accumulated, network))
        table.add_row(row.name, row.where, row.numbers, elements, *ways)
    table.add_section()
    for number, apart in enumerate(report.outputs):
        cells = _cells(apart, network)
        table.add_row(f"output {number}", "", "", f"{apart.elements:,}", "", "", *cells)
    console.print(table)
    if report.ranks.labels is not None:
        for top in TOPS:
            console.print(
                f"top-{top}: {report.ranks.found[top] / report.samples:.2%}, by "
                f"{report.reference} {report.ranks.right[top] / report.samples:.2%}"
            )


def share(apart: Apart) -> str:
    """Of the elements that differ."""
    return f"{apart.differ / apart.elements:.3%}" if apart.differ else "0"


def _cells(apart: Apart, headings: Iterable[str]) -> list[str]:
    found = {
        "differ": share(apart),
        "most": f"{apart.most:.4g}",
        "dB": "-" if apart.noise == 0 else f"{apart.snr_db:.1f}",
    }
    return [found[heading] for heading in headings]


def to_json(report: Report) -> dict[str, Any]:
    """The report as plain values; shares of samples are 0 to 1, noise that is none is null."""
    result: dict[str, Any] = {
        "model": report.model,
        "device": report.device,
        "reference": report.reference,
        "samples": report.samples,
        "layers": [
            {
                "name": row.name,
                "where": row.where,
                "numbers": row.numbers,
                "why": row.why,
                "alone": apart_json(row.alone),
                "accumulated": apart_json(row.accumulated),
            }
            for row in report.rows
        ],
        "outputs": [apart_json(apart) for apart in report.outputs],
    }
    if report.ranks.labels is not None:
        for top in TOPS:
            result[f"top{top}"] = report.ranks.found[top] / report.samples
            result[f"reference_top{top}"] = report.ranks.right[top] / report.samples
    return result


def apart_json(apart: Apart) -> dict[str, Any]:
    """As plain values; noise that is none is null."""
    return {
        "elements": apart.elements,
        "differ": apart.differ,
        "most": apart.most,
        "snr_db": None if apart.noise == 0 else apart.snr_db,
    }
