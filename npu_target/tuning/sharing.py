"""Sharing a tracker's servers with other clients.

TVM's tracker gives servers in the order of the requests, and a client keeps its session for as long
as it likes. Here one that has had a server for a turn, or has nothing to measure, gives it back
when others wait, and stands in line again: so every client gets on, however much another has to do.
"""

from __future__ import annotations

import threading
import time

from rpc_server.address import Address
from rpc_server.credentials import Credentials
from rpc_server.tracker_client import Counts, TrackerClient, TrackerError

# As long as a batch of candidates takes. To change hands costs some 0.1 s.
TURN_SECONDS = 3.0
_LOOK_SECONDS = 1.0
# Whoever waits no longer than this is not told.
_SHORT_SECONDS = 1.5


class Sharing(threading.Thread):
    """Looks, while it runs, how many servers of `key` there are and how many others want one.

    `name` is what users call them. `last_seen` is when there was one last, by `time.monotonic`.
    """

    def __init__(
        self, tracker: Address, credentials: Credentials, key: str, device_name: str
    ) -> None:
        super().__init__(name="sharing", daemon=True)
        self.last_seen = time.monotonic()
        self._tracker = tracker
        self._credentials = credentials
        self._key = key
        self._device_name = device_name
        self._lock = threading.Lock()
        self._held = 0
        self._asked = 0
        self._asked_since = 0.0
        self._counts: Counts | None = None
        self._trouble = ""
        self._others_waiting = 0
        self._stopping = threading.Event()

    def run(self) -> None:
        client: TrackerClient | None = None
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                client = client or TrackerClient(self._tracker, credentials=self._credentials)
                with self._lock:
                    ours = self._asked
                counts, self._trouble = client.counts(self._key), ""
            except TrackerError as error:
                if client is not None:
                    client.close()
                client, counts, self._trouble = None, None, str(error)
            with self._lock:
                self._counts = counts
                # What this process asked for since is not among the others.
                ours = max(ours, self._asked) if counts is not None else 0
                self._others_waiting = max(0, counts.waiting - ours) if counts is not None else 0
            if counts is not None and counts.registered:
                self.last_seen = time.monotonic()
        if client is not None:
            client.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def asks(self) -> None:
        """A request of this process's stands in line now."""
        with self._lock:
            if not self._asked:
                self._asked_since = time.monotonic()
            self._asked += 1

    def has_asked(self, was_given: bool) -> None:
        """It does so no more; whether it got a server."""
        with self._lock:
            self._asked -= 1
            self._held += was_given

    def lost(self) -> None:
        """A server that this process had is no longer its."""
        with self._lock:
            self._held -= 1

    def others_wait(self) -> bool:
        """Whether other clients stand in line."""
        return self._others_waiting > 0

    def gives_back(self, held_seconds: float, is_idle: bool) -> bool:
        """Whether a server that this process has had for so long is another's turn; if so, it is no
        longer counted as this one's."""
        with self._lock:
            if not self._others_waiting or not (is_idle or held_seconds >= TURN_SECONDS):
                return False
            self._others_waiting -= 1
            self._held -= 1
            return True

    def waiting_text(self) -> str:
        """What this process waits for, in words; empty while it has a server, and at first."""
        with self._lock:
            counts, trouble = self._counts, self._trouble
            is_short = time.monotonic() - self._asked_since < _SHORT_SECONDS
            if self._held or (not trouble and (not self._asked or is_short or counts is None)):
                return ""
        wanted = f"waits for a server of {self._device_name}"
        if counts is None:
            return f"{wanted}: {trouble}"
        if not counts.registered:
            return f"{wanted}: tracker {self._tracker} has none now"
        busy = max(0, counts.registered - counts.free)
        verb = "is" if busy == 1 else "are"
        return f"{wanted}: {busy} of {counts.registered} {verb} with others"
