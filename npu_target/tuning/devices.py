"""The devices that a command measures on: a tracker's, or some of its own while it runs."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from rpc_server.address import Address
from rpc_server.local import LocalServers

from ..device import DeviceConfig
from .pool import DevicePool


@contextlib.contextmanager
def device_pool(
    config: DeviceConfig,
    tracker: Address | None,
    servers: int | None,
    output_file: Path,
    console: Console,
) -> Iterator[DevicePool]:
    """`servers` of the tracker's (None: all), or, without a tracker, that many servers (None: one
    per processor) on loopback. What processes have to say goes to `output_file`."""
    with contextlib.ExitStack() as stack:
        if tracker is not None:
            pool = DevicePool(tracker, config, output_file, servers)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="npu-devices-"))
            count = servers or os.cpu_count() or 1
            with console.status(f"starting {count} simulated devices"):
                own = stack.enter_context(LocalServers(config, count, Path(folder)))
            pool = DevicePool(own.tracker, config, output_file, on_lost=own.replace)
        yield stack.enter_context(pool)
