"""Asking a tracker, with a time limit on every answer.

TVM's own client waits a minute for a tracker that is not there and for ever for a device that
nobody serves. This one speaks the same protocol (`tvm.rpc.base`) and fails soon and clearly.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, NamedTuple

from tvm.rpc import base

from npu_target.device import DeviceConfig

from .address import Address


class TrackerError(RuntimeError):
    """A tracker that is not there, is something else, or does not answer."""


class NoDevice(TrackerError):
    """The tracker is there but gave no server of the wanted device in time."""


class Endpoint(NamedTuple):
    """A server that the tracker reserved for one session."""

    host: str
    port: int
    matchkey: str


def device_key(config: DeviceConfig, runner: str = "") -> str:
    """The key under which servers of a device register: its name and its hash, and what measures
    where that is not the simulator.

    The tracker's protocol gives a meaning to colons and blanks, which no device's name has.
    """
    return f"{config.name}-{config.hash}" + (f"@{runner}" if runner else "")


class TrackerClient:
    """One connection to a tracker. Not for use from several threads at once."""

    def __init__(self, address: Address, timeout_seconds: float = 5.0) -> None:
        """Connect. Raises TrackerError when no tracker answers at `address`."""
        self.address = address
        self._timeout_seconds = timeout_seconds
        try:
            self._socket = socket.create_connection(address, timeout=timeout_seconds)
        except OSError as error:
            raise TrackerError(
                f"no tracker answers at {address} ({error.strerror or error}); start one with: "
                f"python -m rpc_server.tracker --host {address.host} --port {address.port}"
            ) from error
        try:
            self._socket.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            magic = struct.unpack("<i", base.recvall(self._socket, 4))[0]
        except OSError as error:
            self.close()
            raise TrackerError(f"{address} is not a TVM RPC tracker: {error}") from error
        if magic != base.RPC_TRACKER_MAGIC:
            self.close()
            raise TrackerError(f"{address} is not a TVM RPC tracker, it answers 0x{magic:x}")

    def __enter__(self) -> TrackerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ping(self) -> None:
        """Raises TrackerError when the tracker has gone away."""
        self._ask([base.TrackerCode.PING])

    def servers(self) -> dict[str, int]:
        """How many servers are registered under each key, busy ones included."""
        _, summary = self._ask([base.TrackerCode.SUMMARY])
        counts: dict[str, int] = {}
        for server in summary["server_info"]:
            key = server["key"].partition(":")[2]
            counts[key] = counts.get(key, 0) + 1
        return counts

    def free_servers(self, key: str) -> int:
        """How many servers wait under `key` for a session."""
        _, summary = self._ask([base.TrackerCode.SUMMARY])
        return int(summary["queue_info"].get(key, {"free": 0})["free"])

    def require(self, config: DeviceConfig, runner: str = "") -> int:
        """The number of servers of a device that measure so (see `device_key`). Raises NoDevice,
        naming what there is, for none."""
        servers = self.servers()
        key = device_key(config, runner)
        if key in servers:
            return servers[key]
        there = ", ".join(f"{count} x {name}" for name, count in sorted(servers.items()))
        raise NoDevice(
            f"tracker {self.address} has no server of {config.name} (key {key}); it has: "
            f"{there or 'none at all'}; start one with: python -m rpc_server.server "
            f"--tracker {self.address} --device {config.name}"
            + (f" --runner {runner} --run-with 'COMMAND {{elf}} ...'" if runner else "")
        )

    def request(self, key: str, wait_seconds: float) -> Endpoint:
        """Reserve a server of `key`, waiting for a free one at most `wait_seconds`.

        The client cannot be used after a NoDevice, since its request stays with the tracker.
        Raises NoDevice when none became free in time, TrackerError when the tracker went away.
        """
        message = [base.TrackerCode.REQUEST, key, "", 1]
        try:
            code, value = self._ask(message, wait_seconds)
        except TimeoutError:
            self.close()
            raise NoDevice(
                f"tracker {self.address}: no server of {key} became free in {wait_seconds:g} s"
            ) from None
        if code != base.TrackerCode.SUCCESS:
            raise TrackerError(f"tracker {self.address} refused a request for {key}: {value}")
        host, port, matchkey = value
        return Endpoint(host, port, matchkey)

    def _ask(self, message: list[Any], timeout_seconds: float | None = None) -> Any:
        self._socket.settimeout(timeout_seconds or self._timeout_seconds)
        try:
            base.sendjson(self._socket, message)
            return base.recvjson(self._socket)
        except TimeoutError as error:
            if timeout_seconds is not None:
                raise
            raise TrackerError(f"tracker {self.address} does not answer") from error
        except (OSError, struct.error, json.JSONDecodeError) as error:
            raise TrackerError(f"tracker {self.address} went away: {error}") from error


def wait_for_servers(address: Address, key: str, count: int, wait_seconds: float) -> None:
    """Return when `count` servers of `key` are free; raises NoDevice after `wait_seconds`."""
    deadline = time.monotonic() + wait_seconds
    with TrackerClient(address) as client:
        while (free := client.free_servers(key)) < count:
            if time.monotonic() > deadline:
                raise NoDevice(f"tracker {address}: {free} of {count} servers of {key} came up")
            time.sleep(0.05)
