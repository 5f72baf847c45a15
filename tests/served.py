"""`npu-target serve ...` in processes of their own."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import psutil

from rpc_server.address import Address
from rpc_server.local import LocalServers
from rpc_server.tracker_client import Endpoint, TrackerClient


@contextlib.contextmanager
def running(what, *arguments, **settings):
    """`npu-target serve WHAT ...`, ended afterwards with all it started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "npu_target", "serve", what, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )
    try:
        yield process
    finally:
        family = [psutil.Process(process.pid)] if process.poll() is None else []
        family += [child for parent in family for child in parent.children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.communicate()


@contextlib.contextmanager
def running_tracker(*arguments):
    with running("tracker", "--port", 0, *arguments) as process:
        line = process.stdout.readline()
        assert line.startswith("tracker listens on 127.0.0.1:")
        yield process, Address.parse(line.split()[-1])


def server_of(client: TrackerClient, key: str, wait_seconds: float = 30.0) -> Endpoint:
    """A server that is the client's from now on, as soon as one is free."""
    client.ask_for(key)
    endpoint = client.given(wait_seconds)
    assert endpoint is not None, f"no server of {key} became free in {wait_seconds:g} s"
    return endpoint


def pids_of(servers: LocalServers) -> list[int]:
    """Process ids of the servers that run now."""
    with servers._lock:
        return [child.pid for child in servers._children]
