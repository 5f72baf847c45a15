"""Asking a tracker, with a time limit on every answer.

TVM's own client waits a minute for a tracker that is not there and for ever for a device that
nobody serves. This one speaks the same protocol (`tvm.rpc.base`) and fails soon and clearly.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Any, NamedTuple, TypeVar

from tvm.rpc import base

from npu_target.device import DeviceConfig
from npu_target.errors import UserError

from .address import Address

_Part = TypeVar("_Part", list, dict)


class TrackerError(UserError, RuntimeError):
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
                f"npu-target serve tracker --bind {address.host} --port {address.port}"
            ) from error
        try:
            self._socket.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            magic = struct.unpack("<i", base.recvall(self._socket, 4))[0]
        except (OSError, struct.error) as error:
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
        """Raises TrackerError when the tracker has gone away, or is something else."""
        answer = self._ask([base.TrackerCode.PING])
        if answer != base.TrackerCode.SUCCESS:
            raise self._is_none(answer)

    def servers(self) -> dict[str, int]:
        """How many servers are registered under each key, busy ones included."""
        counts: dict[str, int] = {}
        for server in self._summary("server_info", list):
            try:
                key = server["key"].partition(":")[2]
            except (TypeError, KeyError, AttributeError) as error:
                raise self._is_none(server) from error
            counts[key] = counts.get(key, 0) + 1
        return counts

    def free_servers(self, key: str) -> int:
        """How many servers wait under `key` for a session."""
        queue = self._summary("queue_info", dict).get(key, {"free": 0})
        try:
            return int(queue["free"])
        except (TypeError, KeyError, ValueError) as error:
            raise self._is_none(queue) from error

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
            f"{there or 'none at all'}; start one with: npu-target serve devices "
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
            answer = self._ask(message, wait_seconds)
        except TimeoutError:
            self.close()
            raise NoDevice(
                f"tracker {self.address}: no server of {key} became free in {wait_seconds:g} s"
            ) from None
        try:
            code, value = answer
            if code != base.TrackerCode.SUCCESS:
                raise TrackerError(f"tracker {self.address} refused a request for {key}: {value}")
            host, port, matchkey = value
            return Endpoint(str(host), int(port), str(matchkey))
        except (TypeError, ValueError) as error:
            raise self._is_none(answer) from error

    def _summary(self, part: str, kind: type[_Part]) -> _Part:
        """A part of what the tracker knows. Raises TrackerError where the answer is no such."""
        answer = self._ask([base.TrackerCode.SUMMARY])
        try:
            _, summary = answer
            found = summary[part]
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise self._is_none(answer) from error
        if not isinstance(found, kind):
            raise self._is_none(answer)
        return found

    def _is_none(self, answer: object) -> TrackerError:
        return TrackerError(
            f"{self.address} is not a TVM RPC tracker, it answers {repr(answer)[:60]}"
        )

    def _ask(self, message: list[Any], timeout_seconds: float | None = None) -> Any:
        self._socket.settimeout(timeout_seconds or self._timeout_seconds)
        try:
            base.sendjson(self._socket, message)
            return base.recvjson(self._socket)
        except TimeoutError as error:
            if timeout_seconds is not None:
                raise
            raise TrackerError(f"tracker {self.address} does not answer") from error
        except OSError as error:
            raise TrackerError(f"tracker {self.address} went away: {error}") from error
        except (struct.error, ValueError, MemoryError, OverflowError) as error:
            raise TrackerError(
                f"{self.address} is not a TVM RPC tracker, its answer is no JSON: {error}"
            ) from error


def wait_for_servers(address: Address, key: str, count: int, wait_seconds: float) -> None:
    """Return when `count` servers of `key` are free; raises NoDevice after `wait_seconds`."""
    deadline = time.monotonic() + wait_seconds
    with TrackerClient(address) as client:
        while (free := client.free_servers(key)) < count:
            if time.monotonic() > deadline:
                raise NoDevice(f"tracker {address}: {free} of {count} servers of {key} came up")
            time.sleep(0.05)
