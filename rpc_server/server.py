"""`python -m rpc_server.server`: simulated devices, or what a command of the user's runs programs
on, registered with a tracker.

Each server is a process of its own. This one watches them: a server that ends is started again,
and all are stopped when the tracker has gone away or on Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable

from npu_target.device import DEFAULT_DEVICE, ConfigError, find
from npu_target.external import ExternalError
from npu_target.external.options import (
    add_external_options,
    add_runner_name,
    external_device,
    to_arguments,
)

from .address import LOOPBACK, Address, AddressError, check_can_bind
from .process import Child, ProcessError, StopSignal, leave_with_parent, stop_all
from .tracker import warn_if_exposed
from .tracker_client import TrackerClient, TrackerError, device_key

TRACKER_PATIENCE_SECONDS = 10.0
_WATCH_SECONDS = 0.5
# A server that ends this often this soon would do so for ever.
_MOST_RESTARTS = 5
_RESTART_WINDOW_SECONDS = 30.0


def serving_child(
    device: str, tracker: Address, host: str, port: int, *external_arguments: str
) -> Child:
    """Start one server process; raises ProcessError when it does not come up."""
    return Child(
        "rpc_server.serving",
        f"--device={device}",
        f"--tracker={tracker}",
        f"--host={host}",
        f"--port={port}",
        *external_arguments,
    )


class Watch(threading.Thread):
    """Starts servers again that ended, and looks whether the tracker is still there."""

    def __init__(
        self, children: list[Child], tracker: Address, start_another: Callable[[], Child]
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self.children = children
        self.tracker = tracker
        self.start_another = start_another
        self.given_up = threading.Event()
        self.stopping = threading.Event()
        self.reason = ""
        self._restarts: list[float] = []
        self._tracker_seen = time.monotonic()

    def run(self) -> None:
        while not self.stopping.wait(_WATCH_SECONDS):
            try:
                self._restart_ended()
                self._check_tracker()
            except (TrackerError, ProcessError) as error:
                self.reason = str(error)
                self.given_up.set()
                return

    def _restart_ended(self) -> None:
        for index, child in enumerate(self.children):
            if child.exit_code() is None or self.stopping.is_set():
                continue
            now = time.monotonic()
            self._restarts = [t for t in self._restarts if now - t < _RESTART_WINDOW_SECONDS]
            self._restarts.append(now)
            if len(self._restarts) > _MOST_RESTARTS:
                raise ProcessError("servers end as soon as they are started; see the lines above")
            print(f"server {child.pid} ended (exit code {child.exit_code()}); starting another")
            child.stop()
            self.children[index] = self.start_another()

    def _check_tracker(self) -> None:
        try:
            with TrackerClient(self.tracker, timeout_seconds=1.0) as client:
                client.ping()
            self._tracker_seen = time.monotonic()
        except TrackerError as error:
            if time.monotonic() - self._tracker_seen > TRACKER_PATIENCE_SECONDS:
                raise TrackerError(f"lost the tracker, servers stopped: {error}") from error


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m rpc_server.server",
        description="Serve simulated devices, or what --run-with runs programs on, to the clients "
        "of a tracker. TVM's RPC has no authentication: bind to other addresses than loopback only "
        "in a network that you trust.",
    )
    result.add_argument("--tracker", required=True, metavar="HOST:PORT", help="where to register")
    result.add_argument(
        "--device",
        default=DEFAULT_DEVICE,
        help="a preset's name, or a file that DeviceConfig.save wrote (default: %(default)s)",
    )
    result.add_argument(
        "--count", type=int, default=1, help="how many servers, each a process (default: 1)"
    )
    result.add_argument("--host", default=LOOPBACK, help="address to bind (default: %(default)s)")
    result.add_argument(
        "--port",
        type=int,
        default=0,
        help="port of the first server, the next ones follow; 0 for any free ones (default: 0)",
    )
    measuring = result.add_argument_group("measuring on something else than the simulator")
    add_external_options(measuring)
    add_runner_name(measuring)
    result.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.count < 1:
        parser().error(f"--count must be at least 1, got {options.count}")
    children: list[Child] = []
    try:
        tracker = Address.parse(options.tracker)
        config = find(options.device)
        ports = [options.port + i if options.port else 0 for i in range(options.count)]
        for port in ports:
            check_can_bind(Address(options.host, port))
        TrackerClient(tracker).close()
        warn_if_exposed(Address(options.host, options.port))
        external = external_device(options, config)
        name, runner = config.name, ""
        if external is not None:
            external.builder.prepare()  # once, not in each child
            runner = external.name
            name = f"{name}@{runner}"

        def start(port: int = 0) -> Child:
            more = to_arguments(options)
            return serving_child(options.device, tracker, options.host, port, *more)

        for port in ports:
            children.append(start(port))
            print(f"serving {name} on {Address(options.host, int(children[-1].ready))}")
    except (AddressError, ConfigError, ExternalError, TrackerError, ProcessError) as error:
        stop_all(children)
        print(f"error: {error}", file=sys.stderr)
        return 1
    stop_signal = StopSignal()
    print(
        f"{len(children)} server(s) of {name} registered with tracker {tracker} "
        f"as {device_key(config, runner)}; Ctrl-C stops",
        flush=True,
    )
    if options.with_parent:
        leave_with_parent()
    watch = Watch(children, tracker, start)
    watch.start()
    stopped = stop_signal.wait(watch.given_up)
    watch.stopping.set()
    watch.join()
    stop_all(watch.children)
    if not stopped:
        print(f"error: {watch.reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
