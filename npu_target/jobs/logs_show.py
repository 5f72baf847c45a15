"""Showing what tuning logs there are, and what they say of a model's layers."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..device import DEFAULT_DEVICE, find
from ..files import check_can_write
from ..tuning.asked_logs import asked_logs, logs_in
from ..tuning.errors import LogError
from ..tuning.header import HEADER_FILE, Header
from ..tuning.history import LayerHistory, histories, measured_by
from ..tuning.log import TuningLog
from ..tuning.models import model_name
from ..tuning.places import NO_LOGS, own_logs, shipped_logs
from ..tuning.report import make_console, write_json
from .errors import UsageError


def run(options: argparse.Namespace) -> int:
    if options.logs == NO_LOGS:
        raise UsageError("--logs none: there is nothing to show")
    if options.layer is not None and options.model is None:
        raise UsageError("--layer: needs --model")
    if options.json is not None:
        check_can_write(options.json)
    console = make_console()
    found = _list(console, options) if options.model is None else _layers(console, options)
    if options.json is not None:
        write_json(options.json, found)
    return 0


def _list(console: Console, options: argparse.Namespace) -> dict[str, Any]:
    """All logs that there are, of a device if one is named."""
    device = None if options.device is None else find(options.device).name
    places = [Path(options.logs or own_logs())]
    if not options.own_logs_only:
        places.append(shipped_logs())
    if options.logs is not None and not _folders(places[:1]):
        raise LogError(f"{logs_in(places[0])}; give another --logs folder")
    headers = {folder: Header.read(folder) for folder in _folders(places)}
    table = Table(box=None)
    for name in ("model", "device", "measured by", "layers", "trials", "last", "of"):
        table.add_column(name, justify="right" if name in ("layers", "trials") else "left")
    rows: list[dict[str, Any]] = []
    for folder, header in headers.items():
        if device not in (None, header.device) or options.runner not in ("", header.runner):
            continue
        log = TuningLog(folder, header)
        found = histories([log])
        last = max((entry.get("time", "") for entry in log.measurements), default="")
        rows.append(
            {
                "model": header.model,
                "device": header.measured_on,
                "measured_by": measured_by(log),
                "layers": len(found),
                "trials": log.trials,
                "last": last,
                "folder": str(folder),
            }
        )
        *shown, _ = rows[-1].values()
        table.add_row(*map(str, shown[:-1]), _day(last), _owner(folder))
    if not rows and options.runner:
        runners = sorted({header.runner for header in headers.values()} - {""})
        raise LogError(
            f"nothing was measured by {options.runner!r}"
            + ("" if device is None else f" on {device}")
            + f" in {', '.join(map(str, places))}; runners there: {', '.join(runners) or 'none'}"
        )
    if rows:
        console.print(table)
        for place in places:
            if any(Path(row["folder"]).is_relative_to(place) for row in rows):
                console.print(f"{_owner(place)}: {place}", highlight=False, soft_wrap=True)
    else:
        console.print(f"no tuning logs in {', '.join(map(str, places))}", highlight=False)
    return {"logs": rows}


def _folders(places: list[Path]) -> list[Path]:
    found = {
        path.parent.resolve(): path.parent
        for place in places
        for path in sorted(place.glob(f"*/*/{HEADER_FILE}"))
    }
    return list(found.values())


def _owner(folder: Path) -> str:
    """Whose logs these are, in a word."""
    return "package" if folder.is_relative_to(shipped_logs()) else "yours"


def _day(time: str) -> str:
    return time.partition("T")[0]


def _layers(console: Console, options: argparse.Namespace) -> dict[str, Any]:
    """A model's layers, or the steps of one."""
    config = find(options.device or DEFAULT_DEVICE)
    model = model_name(options.model)
    header = Header.of(config, model, options.command_line, runner=options.runner)
    log = asked_logs(header, options.logs, options.own_logs_only).need()
    # As they came to be: what is beneath was there first.
    found = histories([part for part in (log.beneath, log) if part is not None])
    if options.layer is not None:
        names = [history.name for history in found]
        if options.layer not in names:
            raise LogError(
                f"the logs of {model} on {config.name} have no layer {options.layer!r}; layers: "
                f"{', '.join(names)}"
            )
        found = [history for history in found if history.name == options.layer]
        _print_steps(console, found[0])
    else:
        _print_layers(console, found)
    layers = [
        {
            **asdict(history),
            "steps": [{**asdict(step), "folder": str(step.folder)} for step in history.steps],
        }
        for history in found
    ]
    return {"model": model, "device": config.name, "layers": layers}


def _print_layers(console: Console, found: list[LayerHistory]) -> None:
    table = Table(box=None)
    table.add_column("layer", overflow="fold")  # in two lines rather than not all of it
    for name in ("trials", "failed", "first", "best", "at", "when", "of"):
        table.add_column(name, justify="left" if name in ("when", "of") else "right")
    for history in found:
        failed = sum(history.failed.values())
        numbers = [str(history.measured + failed), str(failed)]
        if not history.steps:
            table.add_row(history.name, *numbers)
            continue
        first, best = history.steps[0], history.steps[-1]
        table.add_row(
            history.name,
            *numbers,
            f"{first.cycles:,}",
            f"{best.cycles:,}",
            str(best.trial or "default"),
            _day(best.time),
            _owner(best.folder),
        )
    console.print(table)
    by = dict.fromkeys(history.steps[-1].measured_by for history in found if history.steps)
    console.print(f"cycles by {', '.join(by)}; at: the trial", highlight=False)


def _print_steps(console: Console, history: LayerHistory) -> None:
    table = Table(box=None)
    for name in ("cycles", "trial", "when", "measured by", "of"):
        table.add_column(name, justify="right" if name in ("cycles", "trial") else "left")
    for step in history.steps:
        table.add_row(
            f"{step.cycles:,}",
            str(step.trial or "default"),
            step.time,
            step.measured_by,
            _owner(step.folder),
        )
    console.print(table)
    failed = ", ".join(f"{count} {kind}" for kind, count in sorted(history.failed.items()))
    console.print(
        f"{history.measured} measured" + (f"; failed: {failed}" if failed else ""), highlight=False
    )
