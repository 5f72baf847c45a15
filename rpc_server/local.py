"""A tracker and servers of one's own on loopback, for as long as a `with` block lasts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from npu_target.device import DeviceConfig

from .address import LOOPBACK, Address
from .process import Child, stop_all
from .server import serving_child
from .tracker_client import device_key, wait_for_servers

_START_SECONDS = 60.0


class LocalServers:
    """`count` servers of a device, each a process, and their tracker, on free ports.

    Use as a context manager. `tracker` is the tracker's address. The device's description is
    handed to the servers as a file in `folder`, which must exist. Raises ProcessError or
    TrackerError when they do not come up.
    """

    def __init__(self, config: DeviceConfig, count: int, folder: Path) -> None:
        self.config = config
        self.count = count
        self._device_file = folder / "device.json"
        self._children: list[Child] = []
        self._lock = threading.Lock()

    def __enter__(self) -> LocalServers:
        self.config.save(self._device_file)
        self._tracker = Child("npu_target", "serve", "tracker", f"--bind={LOOPBACK}", "--port=0")
        self.tracker = Address.parse(self._tracker.ready.rpartition(" ")[2])
        with ExitStack() as undo:
            undo.push(self.__exit__)
            with ThreadPoolExecutor(self.count) as executor:
                starts = [executor.submit(self._start_one) for _ in range(self.count)]
            for start in starts:
                start.result()
            wait_for_servers(self.tracker, device_key(self.config), self.count, _START_SECONDS)
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        stop_all([*self._children, self._tracker])

    def replace(self, port: int) -> None:
        """End the server that listens on `port`, if one of these does, and start another.

        Does nothing for a server that was replaced already.
        """
        with self._lock:
            for child in self._children:
                if int(child.ready) == port:
                    self._children.remove(child)
                    break
            else:
                return
        child.kill()
        self._start_one()

    def pids(self) -> list[int]:
        """Process ids of the servers."""
        with self._lock:
            return [child.pid for child in self._children]

    def _start_one(self) -> None:
        child = serving_child(str(self._device_file), self.tracker, LOOPBACK, 0)
        with self._lock:
            self._children.append(child)
