"""Asking a tracker, with a time limit on every answer.

TVM's own client waits a minute for a tracker that is not there and for ever for a device that
nobody serves. This one speaks the same protocol (`tvm.rpc.base`) and fails soon and clearly.
"""

from __future__ import annotations

import json
import struct
import time
from typing import Any, NamedTuple, TypeVar

from tvm.rpc import base

from npu_target.device import DeviceConfig
from npu_target.errors import UserError

from .address import Address
from .connecting import ConnectError, NobodyThere, connect
from .credentials import NONE as NO_CREDENTIALS
from .credentials import Credentials
from .handshake import is_greeting

_Part = TypeVar("_Part", list, dict)
_MOST_BYTES = 1 << 24  # of an answer: some 200,000 servers


class TrackerError(UserError, RuntimeError):
    """A tracker that is not there, is something else, or does not answer."""


class NoDevice(TrackerError):
    """The tracker is there but gave no server of the wanted device in time."""


class Endpoint(NamedTuple):
    """A server that the tracker reserved for one session."""

    host: str
    port: int
    matchkey: str


class Counts(NamedTuple):
    """Servers of one key: how many there are, how many of them wait for a client, and how many
    requests of clients wait for one. A client that was killed may count as waiting until the next
    server becomes free."""

    registered: int
    free: int
    waiting: int


def device_key(config: DeviceConfig, runner: str = "") -> str:
    """The key under which servers of a device register: its name and its hash, and what measures
    where that is not the simulator.

    The tracker's protocol gives a meaning to colons and blanks, which no device's name has.
    """
    return f"{config.name}-{config.hash}" + (f"@{runner}" if runner else "")


class TrackerClient:
    """One connection to a tracker. Not for use from several threads at once."""

    def __init__(
        self,
        address: Address,
        timeout_seconds: float = 5.0,
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        """Connect. Raises TrackerError when no tracker answers at `address`, or one that these
        credentials do not fit."""
        self.address = address
        self._timeout_seconds = timeout_seconds
        self._received = b""
        try:
            self._socket = connect(address, credentials, timeout_seconds)
        except NobodyThere as error:
            raise TrackerError(
                f"no tracker answers at {address} ({error.reason}); start one with: "
                f"npu-target serve tracker --bind {address.host} --port {address.port}"
            ) from error
        except ConnectError as error:
            raise TrackerError(f"--tracker {address}: {error}") from error
        try:
            self._socket.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            begin = base.recvall(self._socket, 4)
        except OSError as error:
            self.close()
            raise TrackerError(
                f"{address} is not a TVM RPC tracker, or one that wants TLS and a token: {error}"
            ) from error
        (magic,) = struct.unpack("<i", begin)
        if is_greeting(begin):
            self.close()
            raise TrackerError(f"tracker {address} asks for a token: --token-file FILE")
        if magic != base.RPC_TRACKER_MAGIC:
            self.close()
            raise TrackerError(f"{address} is not a TVM RPC tracker, it answers 0x{magic:x}")

    def __enter__(self) -> TrackerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def own_host(self) -> str:
        """The address of this machine on the way to the tracker."""
        return str(self._socket.getsockname()[0])

    def close(self) -> None:
        self._socket.close()

    def ping(self) -> None:
        """Raises TrackerError when the tracker has gone away, or is something else."""
        answer = self._ask([base.TrackerCode.PING])
        if answer != base.TrackerCode.SUCCESS:
            raise self._is_none(answer)

    def servers(self) -> dict[str, list[Address]]:
        """The addresses of the servers that are registered, by key, busy ones included."""
        return self._servers_in(self._summary())

    def free_servers(self, key: str) -> int:
        """How many servers wait under `key` for a session."""
        return self.counts(key).free

    def counts(self, key: str) -> Counts:
        """How many servers there are of a key, and how many want one."""
        return self.all_counts().get(key, Counts(0, 0, 0))

    def all_counts(self) -> dict[str, Counts]:
        """The same of all keys that have servers or requests."""
        summary = self._summary()
        servers = self._servers_in(summary)
        queues = self._part(summary, "queue_info", dict)
        counts = {}
        for key in [*servers, *(key for key in queues if key not in servers)]:
            queue = queues.get(key, {"free": 0, "pending": 0})
            try:
                free, waiting = int(queue["free"]), int(queue["pending"])
            except (TypeError, KeyError, ValueError) as error:
                raise self._is_none(queue) from error
            counts[key] = Counts(len(servers.get(key, [])), free, waiting)
        return counts

    def require(self, config: DeviceConfig, runner: str = "") -> int:
        """The number of servers of a device that measure so (see `device_key`). Raises NoDevice,
        naming what there is, for none."""
        servers = self.servers()
        key = device_key(config, runner)
        if key in servers:
            return len(servers[key])
        there = ", ".join(f"{len(found)} x {name}" for name, found in sorted(servers.items()))
        raise NoDevice(
            f"tracker {self.address} has no server of {config.name} (key {key}); it has: "
            f"{there or 'none at all'}; start one with: npu-target serve devices "
            f"--tracker {self.address} --device {config.name}"
            + (f" --runner {runner} --run-with 'COMMAND {{elf}} ...'" if runner else "")
        )

    def ask_for(self, key: str) -> None:
        """Stand in line for a server of `key`: `given` says when there is one, and until then
        nothing else can be asked. Raises TrackerError when the tracker has gone away."""
        self._send([base.TrackerCode.REQUEST, key, "", 1])

    def given(self, wait_seconds: float) -> Endpoint | None:
        """The server that `ask_for` asked for; None where none became free in `wait_seconds`.
        Raises TrackerError when the tracker went away, or is something else."""
        try:
            answer = self._receive(wait_seconds)
        except TimeoutError:
            return None
        try:
            code, value = answer
            if code != base.TrackerCode.SUCCESS:
                raise TrackerError(f"tracker {self.address} refused a request: {value}")
            host, port, matchkey = value
            return Endpoint(str(host), int(port), str(matchkey))
        except (TypeError, ValueError) as error:
            raise self._is_none(answer) from error

    def _summary(self) -> Any:
        """What the tracker knows. Raises TrackerError where the answer is no such."""
        answer = self._ask([base.TrackerCode.SUMMARY])
        try:
            _, summary = answer
        except (TypeError, ValueError) as error:
            raise self._is_none(answer) from error
        return summary

    def _part(self, summary: Any, name: str, kind: type[_Part]) -> _Part:
        try:
            found = summary[name]
        except (TypeError, KeyError, IndexError) as error:
            raise self._is_none(summary) from error
        if not isinstance(found, kind):
            raise self._is_none(summary)
        return found

    def _servers_in(self, summary: Any) -> dict[str, list[Address]]:
        servers: dict[str, list[Address]] = {}
        for server in self._part(summary, "server_info", list):
            try:
                key = server["key"].partition(":")[2]
                host, port = server["addr"]
                servers.setdefault(key, []).append(Address(str(host), int(port)))
            except (TypeError, KeyError, ValueError, AttributeError) as error:
                raise self._is_none(server) from error
        return servers

    def _is_none(self, answer: object) -> TrackerError:
        return TrackerError(
            f"{self.address} is not a TVM RPC tracker, it answers {repr(answer)[:60]}"
        )

    def _ask(self, message: list[Any]) -> Any:
        self._send(message)
        try:
            return self._receive(self._timeout_seconds)
        except TimeoutError as error:
            raise TrackerError(f"tracker {self.address} does not answer") from error

    def _send(self, message: list[Any]) -> None:
        self._socket.settimeout(self._timeout_seconds)
        try:
            base.sendjson(self._socket, message)
        except OSError as error:
            raise TrackerError(f"tracker {self.address} went away: {error}") from error

    def _receive(self, wait_seconds: float) -> Any:
        """The next answer. Raises TimeoutError when it has not come, all of it, in so many seconds;
        what has come of it is kept for the next time."""
        deadline = time.monotonic() + wait_seconds
        try:
            while (answer := self._whole_answer()) is None:
                self._socket.settimeout(max(1e-3, deadline - time.monotonic()))
                data = self._socket.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("it closed the connection")
                self._received += data
            return json.loads(answer)
        except TimeoutError:
            raise
        except OSError as error:
            raise TrackerError(f"tracker {self.address} went away: {error}") from error
        except ValueError as error:
            raise TrackerError(
                f"{self.address} is not a TVM RPC tracker, its answer is no JSON: {error}"
            ) from error

    def _whole_answer(self) -> bytes | None:
        if len(self._received) < 4:
            return None
        (size,) = struct.unpack("<i", self._received[:4])
        if not 0 <= size <= _MOST_BYTES:
            raise ValueError(f"it would have {size} bytes")
        if len(self._received) < 4 + size:
            return None
        answer, self._received = self._received[4 : 4 + size], self._received[4 + size :]
        return answer


def wait_for_servers(
    address: Address,
    key: str,
    count: int,
    wait_seconds: float,
    credentials: Credentials = NO_CREDENTIALS,
) -> None:
    """Return when `count` servers of `key` are free; raises NoDevice after `wait_seconds`."""
    deadline = time.monotonic() + wait_seconds
    with TrackerClient(address, credentials=credentials) as client:
        while (free := client.free_servers(key)) < count:
            if time.monotonic() > deadline:
                raise NoDevice(f"tracker {address}: {free} of {count} servers of {key} came up")
            time.sleep(0.05)
