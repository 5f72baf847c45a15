"""Device servers, each a process of its own, and what watches over them: a server that ends is
started again, and where the tracker has gone away that is noticed."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .address import Address
from .process import Child, ProcessError
from .tracker_client import TrackerClient, TrackerError

TRACKER_PATIENCE_SECONDS = 10.0
WATCH_SECONDS = 0.5
# A server that ends this often this soon would do so for ever.
_MOST_RESTARTS = 5
_RESTART_WINDOW_SECONDS = 30.0
_numbers = itertools.count()


def serving_child(
    device: str, tracker: Address, host: str, port: int, folder: Path, *external_arguments: str
) -> Child:
    """Start one server process, whose temporary files are in a new folder in `folder`; raises
    ProcessError when it does not come up."""
    return Child(
        "rpc_server.serving",
        f"--device={device}",
        f"--tracker={tracker}",
        f"--host={host}",
        f"--port={port}",
        *external_arguments,
        folder=folder / f"server-{next(_numbers)}",
    )


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
        self, children: list[Child], tracker: Address, start_another: Callable[[], Child]
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self.children = children
        self.tracker = tracker
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
            self.children[index] = self.start_another()

    def _check_tracker(self) -> None:
        try:
            with TrackerClient(self.tracker, timeout_seconds=1.0) as client:
                client.ping()
            self._tracker_seen = time.monotonic()
        except TrackerError as error:
            if time.monotonic() - self._tracker_seen > TRACKER_PATIENCE_SECONDS:
                raise TrackerError(f"lost the tracker, servers stopped: {error}") from error
