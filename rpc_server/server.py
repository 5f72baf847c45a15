"""Device servers, each a process of its own, and what watches over them: a server that ends is
started again, and where the tracker has gone away that is noticed."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .address import Address, listen
from .credentials import Credentials, DoorKeeper
from .door import Doors
from .process import Child, ProcessError
from .tracker_client import TrackerClient, TrackerError

TRACKER_PATIENCE_SECONDS = 10.0
WATCH_SECONDS = 0.5
# A server that ends this often this soon would do so for ever.
_MOST_RESTARTS = 5
_RESTART_WINDOW_SECONDS = 30.0
_numbers = itertools.count()


@dataclass(frozen=True)
class ServerKind:
    """What servers have in common: the device, a name or a file, options of what measures instead
    of the simulator, and the folder in which each has one for its temporary files."""

    device: str
    folder: Path
    external_arguments: Sequence[str] = ()

    def start(self, *where: str) -> Child:
        """A server process; raises ProcessError when it does not come up."""
        return Child(
            "rpc_server.serving",
            f"--device={self.device}",
            *where,
            *self.external_arguments,
            folder=self.folder / f"server-{next(_numbers)}",
        )


class OpenServers:
    """Servers that let anyone in, on these ports; one that is started again has any free port."""

    def __init__(self, kind: ServerKind, tracker: Address, host: str, ports: Sequence[int]) -> None:
        self._kind = kind
        self._tracker = tracker
        self._host = host
        self._ports = list(ports)

    def start(self, index: int) -> Child:
        """Start a server, the first time or again. Raises ProcessError."""
        port, self._ports[index] = self._ports[index], 0
        return self._kind.start(
            f"--tracker={self._tracker}", f"--host={self._host}", f"--port={port}"
        )


class GuardedServers:
    """Servers behind doors, which stay when a server is started again.

    `host` is where to listen, and `known_as` what the tracker tells clients. Raises AddressError
    and CredentialsError.
    """

    def __init__(
        self,
        kind: ServerKind,
        tracker: Address,
        host: str,
        ports: Sequence[int],
        known_as: str,
        credentials: Credentials,
        keeper: DoorKeeper,
        doors: Doors,
    ) -> None:
        self._kind = kind
        self._way = doors.way_to(tracker, credentials)
        self._doors: list[Address] = []
        for index, port in enumerate(ports):
            listener = listen(Address(host, port))
            self._doors.append(Address(known_as, listener.getsockname()[1]))
            doors.open(listener, self._socket(index), keeper)

    def start(self, index: int) -> Child:
        """Start a server, the first time or again. Raises ProcessError."""
        return self._kind.start(
            f"--tracker={self._way}",
            f"--socket={self._socket(index)}",
            f"--door={self._doors[index]}",
        )

    def _socket(self, index: int) -> Path:
        return self._kind.folder / f"{index}.socket"


class Restarts:
    """How often children were started again of late."""

    def __init__(self) -> None:
        self._times: list[float] = []

    def count(self) -> None:
        """There is another one. Raises ProcessError for too many."""
        now = time.monotonic()
        self._times = [t for t in self._times if now - t < _RESTART_WINDOW_SECONDS]
        self._times.append(now)
        if len(self._times) > _MOST_RESTARTS:
            raise ProcessError("servers end as soon as they are started; see the lines above")


class Watch(threading.Thread):
    """Starts servers again that ended, and looks whether the tracker is still there."""

    def __init__(
        self,
        children: list[Child],
        tracker: Address,
        credentials: Credentials,
        start_another: Callable[[int], Child],
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self.children = children
        self.tracker = tracker
        self.credentials = credentials
        self.start_another = start_another
        self.given_up = threading.Event()
        self.stopping = threading.Event()
        self.reason = ""
        self._restarts = Restarts()
        self._tracker_seen = time.monotonic()

    def run(self) -> None:
        while not self.stopping.wait(WATCH_SECONDS):
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
            self._restarts.count()
            print(f"server {child.pid} ended (exit code {child.exit_code()}); starting another")
            child.stop()
            self.children[index] = self.start_another(index)

    def _check_tracker(self) -> None:
        try:
            with TrackerClient(self.tracker, 1.0, self.credentials) as client:
                client.ping()
            self._tracker_seen = time.monotonic()
        except TrackerError as error:
            if time.monotonic() - self._tracker_seen > TRACKER_PATIENCE_SECONDS:
                raise TrackerError(f"lost the tracker, servers stopped: {error}") from error
