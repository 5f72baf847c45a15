"""Measuring on all servers of a device at the same time.

A thread per server takes jobs from one queue. It talks to its server through a worker process,
so that a call that hangs can be ended. A thread that lost its server asks the tracker for
another one before it takes the next job: losing a server costs the job under way. So does one that
has given its server back because others wait for it, which it does between two jobs.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from rpc_server.address import Address
from rpc_server.credentials import NONE as NO_CREDENTIALS
from rpc_server.credentials import Credentials
from rpc_server.door import Doors
from rpc_server.process import ProcessError
from rpc_server.tracker_client import Endpoint, NoDevice, TrackerClient, TrackerError, device_key

from ..device import DeviceConfig
from .errors import TuningError
from .failure import DEVICE_LOST, TIMED_OUT, Failure
from .session import Job, Outcome, ServerMismatch, connect, disconnect, measure
from .sharing import Sharing
from .worker_process import WorkerDied, WorkerError, WorkerProcess, WorkerTimeout

# A server ends a run that takes too long by itself; past this much more it is hung as well.
_HUNG_SECONDS = 5.0
_CONNECT_SECONDS = 10.0
_RETRY_SECONDS = 0.5
# How often one that waits looks whether it still should.
_WAIT_SECONDS = 0.2
_TELL_SECONDS = 1.0
# How long a run goes on without any server; where others have them, it waits for its turn.
PATIENCE_SECONDS = 60.0


class DevicesLost(TuningError):
    """No server of the device is left, or the tracker is gone."""


class DevicePool:
    """Measures jobs on the servers that a tracker has for a device. A context manager.

    At most `servers` of them are used. They are the simulator's, or those on which `runner`
    measures. `on_lost` is told the port of a server whose session
    ended in an error, and may start another. What worker processes print goes to `output_file`.
    `told` is called now and then with what is waited for, and with an empty text when that is over.
    Raises NoDevice or TrackerError when there is nothing to begin with.
    """

    def __init__(
        self,
        tracker: Address,
        config: DeviceConfig,
        output_file: Path,
        servers: int | None = None,
        on_lost: Callable[[int], None] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        runner: str = "",
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        with TrackerClient(tracker, credentials=credentials) as client:
            available = client.require(config, runner)
        self.size = min(available, servers or available)
        self._tracker = tracker
        self._credentials = credentials
        self._config = config
        self._runner = runner
        self._on_lost = on_lost
        self._patience_seconds = patience_seconds
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Outcome]]] = queue.SimpleQueue()
        self.told: Callable[[str], None] = lambda text: None
        self._closing = threading.Event()
        self._failed: TuningError | None = None
        self._last_contact = time.monotonic()
        self._doors = Doors()
        self._sharing = Sharing(tracker, credentials, device_key(config, runner), config.name)
        self._sharing.start()
        self._workers = [WorkerProcess(output_file, measure.__module__) for _ in range(self.size)]
        self._threads = [
            threading.Thread(target=self._serve, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()
        self._teller = threading.Thread(target=self._tell, daemon=True)
        self._teller.start()

    def __enter__(self) -> DevicePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all measuring at once; jobs not done yet fail as device_lost."""
        self._closing.set()
        for worker in self._workers:
            worker.stop()
        for thread in [*self._threads, self._teller]:
            thread.join()
        self._sharing.stop()
        self._doors.close()
        self._drain(Outcome(failure=Failure(DEVICE_LOST, "measuring was stopped")))

    def check(self) -> None:
        """Raise DevicesLost when measuring has come to an end for good."""
        if self._failed is not None:
            raise self._failed

    def submit(self, job: Job) -> Future[Outcome]:
        """Measure when a server is free. The future fails with DevicesLost when none is left."""
        future: Future[Outcome] = Future()
        self._jobs.put((job, future))
        if self._failed is not None:
            self._fail(self._failed)
        return future

    def _serve(self, worker: WorkerProcess) -> None:
        endpoint: Endpoint | None = None
        since = 0.0
        while not self._closing.is_set() and self._failed is None:
            if endpoint is None:
                if self._jobs.empty() and self._sharing.others_wait():
                    self._closing.wait(_WAIT_SECONDS)  # they have something to measure
                    continue
                endpoint = self._connect(worker)
                since = time.monotonic()
                continue
            if self._sharing.gives_back(time.monotonic() - since, self._jobs.empty()):
                self._disconnect(worker)
                endpoint = None
                continue
            try:
                job, future = self._jobs.get(timeout=0.1)
            except queue.Empty:
                continue
            try:
                outcome = self._measure(worker, endpoint, job)
            except WorkerError as error:
                future.set_exception(error)
                continue
            if outcome.session_lost:
                endpoint = None
                self._sharing.lost()
            else:
                self._last_contact = time.monotonic()
            future.set_result(outcome)

    def _tell(self) -> None:
        """Say what is waited for, once that has lasted a little."""
        before = ""
        while not self._closing.wait(_TELL_SECONDS):
            text = "" if self._jobs.empty() else self._sharing.waiting_text()
            if text or before:
                self.told(text)
            before = text

    def _connect(self, worker: WorkerProcess) -> Endpoint | None:
        """A session of the worker with a server from the tracker; None where that failed."""
        endpoint: Endpoint | None = None
        try:
            # First: a server waits only a few seconds for the client it was reserved for.
            worker.start()
            endpoint = self._wait_for_turn()
            if endpoint is None:
                return None
            arguments = self._reached(endpoint), self._config, self._runner
            worker.call(connect, *arguments, timeout_seconds=_CONNECT_SECONDS)
        except (NoDevice, TrackerError, WorkerDied, WorkerTimeout, WorkerError) as error:
            if endpoint is not None:
                self._sharing.lost()
            text = error.text if isinstance(error, WorkerError) else str(error)
            text = self._doors.trouble or text
            mismatch = isinstance(error, WorkerError) and error.kind == ServerMismatch.__name__
            if mismatch or time.monotonic() - self._last_contact > self._patience_seconds:
                self._fail(DevicesLost(f"{text}; what was measured is in the logs"))
            self._closing.wait(_RETRY_SECONDS)
            return None
        self._last_contact = time.monotonic()
        return endpoint

    def _wait_for_turn(self) -> Endpoint | None:
        """A server from the tracker, however long others have them all; None when measuring ends.

        Raises NoDevice when there were none for as long as the pool has patience.
        """
        began = time.monotonic()
        with TrackerClient(self._tracker, credentials=self._credentials) as client:
            client.ask_for(device_key(self._config, self._runner))
            self._sharing.asks()
            endpoint = None
            try:
                while endpoint is None and not self._closing.is_set() and self._failed is None:
                    endpoint = client.given(_WAIT_SECONDS)
                    away = time.monotonic() - self._sharing.last_seen
                    if endpoint is None and away > self._patience_seconds:
                        raise NoDevice(
                            f"tracker {self._tracker} has had no server of {self._config.name} for "
                            f"{away:.0f} s"
                        )
            finally:
                self._sharing.has_asked(endpoint is not None)
        # To wait while others measure is not to be without servers.
        now = time.monotonic()
        self._last_contact = min(now, self._last_contact + now - began)
        return endpoint

    def _reached(self, endpoint: Endpoint) -> Endpoint:
        """Where TVM's client, which knows of no doors, gets to a server that may have one."""
        if self._credentials.token is None:
            return endpoint
        way = self._doors.way_to(Address(endpoint.host, endpoint.port), self._credentials)
        return endpoint._replace(host=way.host, port=way.port)

    def _disconnect(self, worker: WorkerProcess) -> None:
        """Give the worker's server back. A process that ends instead does so as well."""
        with contextlib.suppress(WorkerDied, WorkerTimeout):
            worker.call(disconnect, timeout_seconds=_CONNECT_SECONDS)

    def _measure(self, worker: WorkerProcess, endpoint: Endpoint, job: Job) -> Outcome:
        limit = job.timeout_seconds + _HUNG_SECONDS
        try:
            outcome = worker.call(measure, job, timeout_seconds=limit)
            if outcome.failure is not None and outcome.failure.kind == DEVICE_LOST:
                self._report_lost(endpoint)
            return outcome
        except WorkerTimeout:
            # The server should have ended the run itself.
            self._report_lost(endpoint)
            failure = Failure(TIMED_OUT, f"no result after {job.timeout_seconds:g} s")
        except WorkerDied as error:
            failure = Failure(DEVICE_LOST, str(error))
        return Outcome(failure=failure, session_lost=True)

    def _report_lost(self, endpoint: Endpoint) -> None:
        if self._on_lost is None or self._closing.is_set():
            return
        try:
            self._on_lost(endpoint.port)
        except ProcessError as error:
            self._fail(DevicesLost(f"a lost server cannot be started again: {error}"))

    def _fail(self, error: TuningError) -> None:
        """Give up for good: all jobs that wait, or that come yet, fail with `error`."""
        self._failed = error
        self._drain(error)

    def _drain(self, result: Outcome | TuningError) -> None:
        while True:
            try:
                _, future = self._jobs.get_nowait()
            except queue.Empty:
                return
            if isinstance(result, TuningError):
                future.set_exception(result)
            else:
                future.set_result(result)
