"""The devices that a command measures on: a tracker's, or some of its own while it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from rpc_server.address import Address
from rpc_server.credentials import NONE as NO_CREDENTIALS
from rpc_server.credentials import Credentials
from rpc_server.local import LocalServers

from ..device import DeviceConfig
from ..scratch import scratch_folder
from .errors import TuningError
from .pool import PATIENCE_SECONDS, DevicePool


def check_runner(runner: str, tracker: Address | None) -> None:
    """Raise TuningError now for a runner that no tracker is to be asked for."""
    if runner and tracker is None:
        raise TuningError(
            f"--runner {runner} needs --tracker HOST:PORT, a tracker with servers of it; start "
            f"them with: npu-target serve devices --tracker HOST:PORT --runner {runner} "
            "--run-with 'COMMAND {elf} {input} {output}'"
        )


@contextlib.contextmanager
def device_pool(
    config: DeviceConfig,
    tracker: Address | None,
    servers: int | None,
    output_file: Path,
    console: Console,
    runner: str = "",
    timeout_seconds: float = 0.0,
    credentials: Credentials = NO_CREDENTIALS,
) -> Iterator[DevicePool]:
    """`servers` of the tracker's (None: all) on which `runner` measures, or, without a tracker,
    that many simulated ones (None: one per processor) on loopback. What processes have to say goes
    to `output_file`. Without a server it goes on for a minute, or for `timeout_seconds`, which a
    measurement may take. The tracker's servers are told `credentials`."""
    with contextlib.ExitStack() as stack:
        if tracker is not None:
            patience = max(PATIENCE_SECONDS, timeout_seconds)
            pool = DevicePool(
                tracker,
                config,
                output_file,
                servers,
                patience_seconds=patience,
                runner=runner,
                credentials=credentials,
            )
        else:
            folder = stack.enter_context(scratch_folder("devices"))
            count = servers or os.cpu_count() or 1
            with console.status(f"starting {count} simulated devices"):
                own = stack.enter_context(LocalServers(config, count, folder))
            pool = DevicePool(own.tracker, config, output_file, on_lost=own.replace)
        yield stack.enter_context(pool)
