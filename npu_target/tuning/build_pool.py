"""Compiling on all processors: Python's lock would keep threads of one process to one of them."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .compiling import Compiled, CompileJob, compile_trace
from .failure import BUILD_ERROR, Failure
from .worker_process import WorkerDied, WorkerError, WorkerProcess, WorkerTimeout

_COMPILE_SECONDS = 60.0
_STOPPED = "compiling was stopped"

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Call:
    """`lost` gives the result where there is none, by the reason."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout_seconds: float
    lost: Callable[[str], Any]
    future: Future[Any]


class BuildPool:
    """`count` builder processes, all started now, that take jobs from one queue. A context manager.

    A compiler that crashes or hangs costs the candidate under way, as a build_error. What the
    processes print goes to `output_file`.
    """

    def __init__(self, count: int, output_file: Path) -> None:
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
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
            self._calls.put(None)
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            thread.join()

    def submit(self, job: CompileJob) -> Future[Compiled | Failure]:
        """Compile when a process is free. The future raises WorkerError for a bug of the
        compiler: whatever it does not report as a failure."""

        def lost(reason: str) -> Compiled | Failure:
            return Failure(BUILD_ERROR, f"{job.operator.name}: {reason}")

        return self.call(compile_trace, job, timeout_seconds=_COMPILE_SECONDS, lost=lost)

    def call(
        self,
        function: Callable[..., Result],
        *arguments: Any,
        timeout_seconds: float,
        lost: Callable[[str], Result],
    ) -> Future[Result]:
        """Call what can be imported when a process is free; until then the future can be cancelled.
        Its result is `lost(reason)` where the process dies, takes longer than it may, or is ended,
        and WorkerError where the function raises."""
        future: Future[Result] = Future()
        self._calls.put(_Call(function, arguments, timeout_seconds, lost, future))
        return future

    def _serve(self, worker: WorkerProcess) -> None:
        # At once, not with its first job: importing TVM takes as long as some thirty candidates.
        # What does not start is told of where a job needs it.
        with contextlib.suppress(WorkerDied):
            worker.start()
        while (call := self._calls.get()) is not None:
            if not call.future.set_running_or_notify_cancel():
                continue
            if self._closing:
                call.future.set_result(call.lost(_STOPPED))
                continue
            try:
                result = worker.call(
                    call.function, *call.arguments, timeout_seconds=call.timeout_seconds
                )
            except (WorkerTimeout, WorkerDied) as error:
                call.future.set_result(call.lost(_STOPPED if self._closing else str(error)))
            except WorkerError as error:
                call.future.set_exception(error)
            else:
                call.future.set_result(result)
