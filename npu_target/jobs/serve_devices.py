"""Servers of a device, or of what a command of the user's runs programs on, here or on other hosts,
until they are asked to stop or the tracker has gone away."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from rpc_server.address import Address, check_can_bind, is_loopback, is_wildcard
from rpc_server.credentials import read_credentials, read_token
from rpc_server.door import Doors
from rpc_server.launch import launch, read_hosts
from rpc_server.process import Child, ProcessError, StopSignal, stop_all
from rpc_server.server import GuardedServers, OpenServers, ServerKind, Watch
from rpc_server.tracker import warn_if_exposed
from rpc_server.tracker_client import TrackerClient, device_key

from ..device import find
from ..external.asked import external_device
from ..external.options import to_arguments
from ..scratch import scratch_folder
from .door_keeper import door_keeper
from .errors import UsageError


def run(options: argparse.Namespace) -> int:
    if options.launch is not None:
        return _launch(options)
    if options.hosts is not None:
        raise UsageError("--hosts needs --launch ssh or --launch srun")
    return _serve_here(options)


def _launch(options: argparse.Namespace) -> int:
    """Have the same command run on other hosts, for as long as this one runs."""
    tracker: Address = options.tracker
    if options.hosts is None:
        raise UsageError(f"--launch {options.launch} needs --hosts FILE")
    if is_loopback(options.bind) and not is_loopback(tracker.host):
        raise UsageError(
            f"--bind {options.bind}: servers that listen on other hosts' loopback are not reached; "
            "give --bind 0.0.0.0"
        )
    if options.token_file is None and read_token(None) is not None:
        raise UsageError("--launch needs the token in a file that all hosts have: --token-file")
    hosts = read_hosts(options.hosts)
    files = ("token_file", "tls_cert", "tls_key", "tls_ca")
    command = [
        options.remote_python,
        *("-m", "npu_target", "serve", "devices", "--with-parent"),
        f"--tracker={tracker}",
        f"--device={options.device}",
        f"--count={options.count}",
        f"--bind={options.bind}",
        f"--port={options.port}",
        *(
            f"--{name.replace('_', '-')}={value}"
            for name in files
            if (value := vars(options)[name])
        ),
        *to_arguments(options),
    ]
    stop_signal = StopSignal()
    if options.with_parent:
        stop_signal.also_with_parent()
    launch(options.launch, hosts, command, stop_signal)
    return 0


def _serve_here(options: argparse.Namespace) -> int:
    tracker: Address = options.tracker
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
            stop_signal.also_with_parent()
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
