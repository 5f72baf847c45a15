"""The choices that a user has for each layer, as tables of 80 columns and for machines."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ..numerics import Layer
from ..tuning.report import quantity
from .choices import Choice, Choices, Network, Way
from .layer_costs import Cost
from .ranks import TOPS
from .report import apart_json, share

_LEFT_EXACT = "*"


def print_choices(console: Console, found: Choices) -> None:
    """A line a layer, then one for each way to compute the network."""
    count = "1 input" if found.samples == 1 else f"{found.samples} inputs"
    table = Table(
        title=f"{found.model}: each layer's results exact, or the device's own, {count}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("\nlayer", overflow="fold", min_width=16)
    for heading in ("exact:\ncycles", "\nhost", "device:\ncycles", "\nhost", "\ndiffer", "\nmost"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("\nchosen", no_wrap=True)
    for row in found.rows:
        table.add_row(row.name, *_costs(row.exact.cost), *_device(row), row.chosen)
    console.print(table)
    if any(_is_left_exact(row) for row in found.rows):
        console.print(f"{_LEFT_EXACT} too far off for --numerics fast, which leaves it exact")
    for row in found.rows:
        if row.device is not None and row.device.layer is not None and row.device.layer.remark:
            console.print(f"{row.name}: {row.device.layer.remark}", highlight=False)
    console.print(_networks(found))
    console.print(
        f"cycles of {found.device}; host: instructions of its core, about; choose with --numerics, "
        "--exact LAYER, --on-device LAYER, --host LAYER",
        highlight=False,
    )


def _networks(found: Choices) -> Table:
    has_labels = any(network.ranks.labels is not None for network in found.networks)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("network")
    tops = [f"top-{top}" for top in TOPS] if has_labels else []
    for heading in ("cycles", "host", "outputs differ", "most", *tops):
        table.add_column(heading, justify="right", no_wrap=True)
    for network in found.networks:
        tops = [f"{_top(network, top, found):.2%}" for top in TOPS] if has_labels else []
        most = f"{network.outputs.most:.4g}"
        table.add_row(network.name, *_costs(network.cost), share(network.outputs), most, *tops)
    return table


def _top(network: Network, top: int, found: Choices) -> float:
    return network.ranks.found[top] / found.samples


def _costs(cost: Cost) -> list[str]:
    instructions = "?" if cost.instructions is None else quantity(cost.instructions)
    return [f"{cost.cycles:,}" if cost.cycles else "-", instructions]


def _device(row: Choice) -> list[str]:
    way = row.device
    if way is None or way.apart is None:
        is_there = row.exact.layer is not None and row.exact.layer.is_on_device
        return ["same" if is_there else "", "", "", ""]
    differ = share(way.apart) + (_LEFT_EXACT if _is_left_exact(row) else "")
    return [*_costs(way.cost), differ, f"{way.apart.most:g}"]


def _is_left_exact(row: Choice) -> bool:
    return row.device is not None and not row.in_fast


def choices_json(found: Choices) -> dict[str, Any]:
    """The same as plain values. ``device`` of a layer is null where it has no other way, of its
    host's ``instructions`` are null where they are not known."""
    return {
        "model": found.model,
        "device": found.device,
        "samples": found.samples,
        "layers": [
            {
                "name": row.name,
                "chosen": row.chosen or None,
                "in_fast": row.in_fast,
                "exact": _way_json(row.exact),
                "device": None if row.device is None else _way_json(row.device),
            }
            for row in found.rows
        ],
        "networks": {
            network.name: {
                **_cost_json(network.cost),
                "outputs": apart_json(network.outputs),
                **_tops_json(network, found),
            }
            for network in found.networks
        },
    }


def _way_json(way: Way) -> dict[str, Any]:
    return {
        **_cost_json(way.cost),
        **(_layer_json(way.layer) if way.layer else {}),
        **({"alone": apart_json(way.apart)} if way.apart else {}),
    }


def _layer_json(layer: Layer) -> dict[str, Any]:
    return {"where": layer.where, "numbers": layer.form, "why": layer.reason}


def _tops_json(network: Network, found: Choices) -> dict[str, float]:
    if network.ranks.labels is None:
        return {}
    return {f"top{top}": _top(network, top, found) for top in TOPS}


def _cost_json(cost: Cost) -> dict[str, Any]:
    return {"cycles": cost.cycles, "host_instructions": cost.instructions}
