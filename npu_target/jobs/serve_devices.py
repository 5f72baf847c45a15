"""Servers of a device, or of what a command of the user's runs programs on, until they are asked
to stop or the tracker has gone away."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from rpc_server.address import Address, check_can_bind, is_wildcard
from rpc_server.credentials import read_credentials
from rpc_server.door import Doors
from rpc_server.process import Child, ProcessError, StopSignal, leave_with_parent, stop_all
from rpc_server.server import GuardedServers, OpenServers, ServerKind, Watch
from rpc_server.tracker import warn_if_exposed
from rpc_server.tracker_client import TrackerClient, device_key

from ..device import find
from ..external.options import external_device, to_arguments
from ..scratch import scratch_folder
from .door_keeper import door_keeper


def run(options: argparse.Namespace) -> int:
    tracker = Address.parse(options.tracker)
    config = find(options.device)
    keeper = door_keeper(options)
    mine = read_credentials(options.token_file, options.tls_ca)
    ports = [options.port + i if options.port else 0 for i in range(options.count)]
    for port in ports:
        check_can_bind(Address(options.bind, port))
    with TrackerClient(tracker, credentials=mine) as client:
        client.ping()
        known_as = client.own_host if is_wildcard(options.bind) else options.bind
    warn_if_exposed(Address(options.bind, options.port), keeper)
    external = external_device(options, config)
    name, runner = config.name, ""
    if external is not None:
        external.builder.prepare()  # once, not in each child
        runner = external.name
        name = f"{name}@{runner}"
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("servers"))
        kind = ServerKind(options.device, folder, to_arguments(options))
        servers: OpenServers | GuardedServers
        if keeper is None:
            servers = OpenServers(kind, tracker, options.bind, ports)
        else:
            doors = stack.enter_context(Doors())
            servers = GuardedServers(
                kind, tracker, options.bind, ports, known_as, mine, keeper, doors
            )
        children: list[Child] = []
        stack.callback(stop_all, children)
        for index in range(options.count):
            children.append(servers.start(index))
            print(f"serving {name} on {Address(options.bind, int(children[-1].ready))}")
        stop_signal = StopSignal()
        print(
            f"{len(children)} server(s) of {name} registered with tracker {tracker} "
            f"as {device_key(config, runner)}; Ctrl-C stops",
            flush=True,
        )
        if options.with_parent:
            leave_with_parent()
        _watch(Watch(children, tracker, mine, servers.start), stop_signal)
    return 0


def _watch(watch: Watch, stop_signal: StopSignal) -> None:
    """Have servers watched over until they should stop. Raises ProcessError where they must."""
    watch.start()
    stopped = stop_signal.wait(watch.given_up)
    watch.stopping.set()
    watch.join()
    if not stopped:
        raise ProcessError(watch.reason)
