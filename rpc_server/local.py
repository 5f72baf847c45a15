"""A tracker and servers of one's own on loopback, for as long as a `with` block lasts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from npu_target.device import DeviceConfig

from .address import LOOPBACK, Address
from .process import Child, ProcessError, stop_all
from .server import WATCH_SECONDS, OpenServers, Restarts, ServerKind
from .tracker_client import device_key, wait_for_servers

_START_SECONDS = 60.0


class LocalServers:
    """`count` servers of a device, each a process, and their tracker, on free ports. Those that die
    are replaced; a new tracker listens where the old one did.

    Use as a context manager. `tracker` is the tracker's address. The device's description, and
    what the servers have of temporary files, is in `folder`, which must exist. Raises ProcessError
    or TrackerError when they do not come up.
    """

    def __init__(self, config: DeviceConfig, count: int, folder: Path) -> None:
        self.config = config
        self.count = count
        self._folder = folder
        self._device_file = folder / "device.json"
        self._children: list[Child] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watch = threading.Thread(target=self._replace_ended, name="watch", daemon=True)

    def __enter__(self) -> LocalServers:
        self.config.save(self._device_file)
        self._tracker = _tracker_child(0)
        self.tracker = Address.parse(self._tracker.ready.rpartition(" ")[2])
        with ExitStack() as undo:
            undo.callback(self._stop)
            with ThreadPoolExecutor(self.count) as executor:
                starts = [executor.submit(self._start_one) for _ in range(self.count)]
                # In here, so that after a Ctrl-C those that are starting are waited for, to be
                # ended: they would say that their folder is gone.
                for start in starts:
                    start.result()
            wait_for_servers(self.tracker, device_key(self.config), self.count, _START_SECONDS)
            undo.pop_all()
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._watch.join()
        self._stop()

    def replace(self, port: int) -> None:
        """End the server that listens on `port`, if one of these does, and start another.

        Does nothing for a server that was replaced already.
        """
        for child in self._taken_out(lambda child: int(child.ready) == port):
            child.kill()
            self._start_one()

    def _stop(self) -> None:
        stop_all([*self._children, self._tracker])

    def _replace_ended(self) -> None:
        restarts = Restarts()
        try:
            while not self._stopping.wait(WATCH_SECONDS):
                if self._tracker.exit_code() is not None:
                    restarts.count()
                    self._tracker.stop()
                    # Where it was: the servers, and who measures, look for it there.
                    self._tracker = _tracker_child(self.tracker.port)
                for child in self._taken_out(lambda child: child.exit_code() is not None):
                    restarts.count()
                    child.stop()
                    self._start_one()
        except ProcessError as error:
            # A run ends when it has been without servers for long; one may still be alive.
            print(f"servers of this run are not replaced any more: {error}", file=sys.stderr)

    def _taken_out(self, which: Callable[[Child], bool]) -> list[Child]:
        """Those children, which from now on are the caller's alone to end."""
        with self._lock:
            found = [child for child in self._children if which(child)]
            self._children = [child for child in self._children if child not in found]
        return found

    def _start_one(self) -> None:
        kind = ServerKind(str(self._device_file), self._folder)
        child = OpenServers(kind, self.tracker, LOOPBACK, [0]).start(0)
        with self._lock:
            self._children.append(child)


def _tracker_child(port: int) -> Child:
    """A tracker on loopback; port 0 is any free one."""
    return Child("npu_target", "serve", "tracker", f"--bind={LOOPBACK}", f"--port={port}")
