"""Servers of a device, or of what a command of the user's runs programs on, until they are asked
to stop or the tracker has gone away."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack

from rpc_server.address import Address, check_can_bind
from rpc_server.process import Child, ProcessError, StopSignal, leave_with_parent, stop_all
from rpc_server.server import Watch, serving_child
from rpc_server.tracker import warn_if_exposed
from rpc_server.tracker_client import TrackerClient, device_key

from ..device import find
from ..external.options import external_device, to_arguments
from ..scratch import scratch_folder


def run(options: argparse.Namespace) -> int:
    tracker = Address.parse(options.tracker)
    config = find(options.device)
    ports = [options.port + i if options.port else 0 for i in range(options.count)]
    for port in ports:
        check_can_bind(Address(options.bind, port))
    with TrackerClient(tracker) as client:
        client.ping()
    warn_if_exposed(Address(options.bind, options.port))
    external = external_device(options, config)
    name, runner = config.name, ""
    if external is not None:
        external.builder.prepare()  # once, not in each child
        runner = external.name
        name = f"{name}@{runner}"

    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("servers"))

        def start(port: int = 0) -> Child:
            more = to_arguments(options)
            return serving_child(options.device, tracker, options.bind, port, folder, *more)

        children: list[Child] = []
        stack.callback(stop_all, children)
        for port in ports:
            children.append(start(port))
            print(f"serving {name} on {Address(options.bind, int(children[-1].ready))}")
        return _serve(options, children, tracker, name, device_key(config, runner), start)


def _serve(
    options: argparse.Namespace,
    children: list[Child],
    tracker: Address,
    name: str,
    key: str,
    start: Callable[[], Child],
) -> int:
    """Watch over servers until they should stop."""
    stop_signal = StopSignal()
    print(
        f"{len(children)} server(s) of {name} registered with tracker {tracker} "
        f"as {key}; Ctrl-C stops",
        flush=True,
    )
    if options.with_parent:
        leave_with_parent()
    watch = Watch(children, tracker, start)
    watch.start()
    stopped = stop_signal.wait(watch.given_up)
    watch.stopping.set()
    watch.join()
    if not stopped:
        raise ProcessError(watch.reason)
    return 0
