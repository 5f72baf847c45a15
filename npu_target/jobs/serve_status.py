"""What a tracker has: servers, who has them, who waits."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.table import Table

from rpc_server.address import Address
from rpc_server.credentials import read_credentials
from rpc_server.tracker_client import Counts, NoDevice, TrackerClient

from ..device import find
from ..files import check_can_write
from ..tuning.report import make_console, write_json


def run(options: argparse.Namespace) -> int:
    config = None if options.device is None else find(options.device)
    if options.json not in (None, "-"):
        check_can_write(Path(options.json))
    tracker: Address = options.tracker
    mine = read_credentials(options.token_file, options.tls_ca)
    with TrackerClient(tracker, credentials=mine) as client:
        counts, servers = client.all_counts(), client.servers()
    rows = [
        _row(key, counts[key], servers.get(key, []))
        for key in sorted(counts)
        if counts[key].registered or counts[key].waiting
    ]
    if config is not None:
        rows = [row for row in rows if (row["device"], row["hash"]) == (config.name, config.hash)]
    said = {"tracker": str(tracker), "devices": rows}
    if options.json == "-":
        print(json.dumps(said, indent=2))
    else:
        _print(rows)
        if options.json is not None:
            write_json(Path(options.json), said)
    if not any(row["servers"] for row in rows):
        of = "" if config is None else f" of {config.name} ({config.hash})"
        raise NoDevice(f"tracker {tracker} has no server{of}")
    return 0


def _row(key: str, counts: Counts, servers: list[Address]) -> dict[str, Any]:
    """Of servers of one key, as `device_key` makes them."""
    device, _, runner = key.partition("@")
    name, _, digest = device.rpartition("-")
    return {
        "device": name or device,
        "hash": digest if name else "",
        "runner": runner,
        "servers": counts.registered,
        "free": counts.free,
        "busy": max(0, counts.registered - counts.free),
        "waiting": counts.waiting,
        "addresses": sorted(map(str, servers)),
    }


def _print(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    table = Table(box=None)
    for name in ("device", "hash", "by", "servers", "free", "busy", "waiting", "at"):
        is_text = name in ("device", "hash", "by", "at")
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        *shown, addresses = ({**row, "runner": row["runner"] or "simulator"}).values()
        table.add_row(*map(str, shown), ", ".join(addresses))
    make_console().print(table)
