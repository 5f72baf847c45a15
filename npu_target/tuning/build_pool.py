"""Compiling on all processors: Python's lock would keep threads of one process to one of them."""

from __future__ import annotations

import contextlib
import queue
import threading
from concurrent.futures import Future
from pathlib import Path

from .compiling import Compiled, CompileJob, compile_trace
from .failure import BUILD_ERROR, Failure
from .worker_process import WorkerDied, WorkerError, WorkerProcess, WorkerTimeout

_COMPILE_SECONDS = 60.0
_STOPPED = "compiling was stopped"


class BuildPool:
    """`count` builder processes, all started now, that take jobs from one queue. A context manager.

    A compiler that crashes or hangs costs the candidate under way, as a build_error. What the
    processes print goes to `output_file`.
    """

    def __init__(self, count: int, output_file: Path) -> None:
        self._jobs: queue.SimpleQueue[tuple[CompileJob, Future[Compiled | Failure]] | None]
        self._jobs = queue.SimpleQueue()
        self._closing = False
        self._workers = [WorkerProcess(output_file, compile_trace.__module__) for _ in range(count)]
        self._threads = [
            threading.Thread(target=self._serve, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> BuildPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all compiling at once; jobs not done yet fail as build_error."""
        self._closing = True
        for _ in self._threads:
            self._jobs.put(None)
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            thread.join()

    def submit(self, job: CompileJob) -> Future[Compiled | Failure]:
        """Compile when a process is free. The future raises WorkerError for a bug of the
        compiler: whatever it does not report as a failure."""
        future: Future[Compiled | Failure] = Future()
        self._jobs.put((job, future))
        return future

    def _serve(self, worker: WorkerProcess) -> None:
        # At once, not with its first job: importing TVM takes as long as some thirty candidates.
        # What does not start is told of where a job needs it.
        with contextlib.suppress(WorkerDied):
            worker.start()
        while (entry := self._jobs.get()) is not None:
            job, future = entry
            if self._closing:
                future.set_result(Failure(BUILD_ERROR, _STOPPED))
                continue
            try:
                result = worker.call(compile_trace, job, timeout_seconds=_COMPILE_SECONDS)
            except (WorkerTimeout, WorkerDied) as error:
                reason = _STOPPED if self._closing else str(error)
                future.set_result(Failure(BUILD_ERROR, f"{job.operator.name}: {reason}"))
            except WorkerError as error:
                future.set_exception(error)
            else:
                future.set_result(result)
