"""A Python process that calls functions for this one, and that can be ended at any time.

Whatever may hang or crash (a compiler, a call over RPC) runs in one of these: ending it costs
the call under way and nothing else.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

# There is a worker for each processor: a pool of NumPy's threads in each would only get in the way.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# So many new objects start Python's search for cycles: a program has thousands and no cycles.
_COLLECT_AFTER = 200_000


class WorkerDied(RuntimeError):
    """The process ended during a call."""


class WorkerTimeout(RuntimeError):
    """A call took longer than it may; its process was ended."""


class WorkerError(RuntimeError):
    """An exception that the function raised: the name of its type, its text, the traceback."""

    def __init__(self, kind: str, text: str, traceback_text: str) -> None:
        super().__init__(traceback_text)
        self.kind = kind
        self.text = text


class WorkerProcess:
    """Starts its process with `start` or the first call, and another one after it lost that.

    `call` is for one thread; `stop` may be called from any. What the process prints goes to
    `output_file`. It imports `module`, that of the functions to call, while it starts: on a busy
    machine that alone may take longer than a call should.
    """

    def __init__(self, output_file: Path, module: str) -> None:
        self._output_file = output_file
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._stopped = False

    def call(
        self, function: Callable[..., Result], *arguments: Any, timeout_seconds: float
    ) -> Result:
        """`function(*arguments)` in the process; both must be importable and picklable.

        The time for starting the process does not count. Raises WorkerTimeout, WorkerDied, or
        WorkerError for an exception in the function.
        """
        connection = self.start()
        try:
            connection.send((function, arguments))
            if not connection.poll(timeout_seconds):
                self._end()
                raise WorkerTimeout(f"no answer in {timeout_seconds:g} s")
            succeeded, value = connection.recv()
        except (EOFError, OSError) as error:
            code = self._end()
            raise WorkerDied(f"the worker process ended (exit code {code})") from error
        if not succeeded:
            raise WorkerError(*value)
        return value

    def stop(self) -> None:
        """End the process; a call under way raises WorkerDied, and so do later ones."""
        self._stopped = True
        process = self._process  # a call that ends meanwhile takes it away
        if process is not None:
            process.kill()
            process.wait()

    def start(self) -> Connection:
        """Have the process running; raises WorkerDied when it does not come up."""
        if self._connection is not None and self._process is not None:
            return self._connection
        if self._stopped:
            raise WorkerDied("the worker process was stopped")
        try:
            ours, theirs = Pipe()
        except OSError as error:  # too many files are open
            raise WorkerDied(f"a worker process did not start: {error}") from error
        command = [sys.executable, "-m", "npu_target.tuning.worker_process"]
        try:
            with theirs, self._output_file.open("ab") as output:
                self._process = subprocess.Popen(
                    [*command, str(theirs.fileno()), self._module],
                    env={**os.environ, **_ENVIRONMENT},
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
        except OSError as error:  # too many processes, no memory, no folder
            ours.close()
            raise WorkerDied(f"a worker process did not start: {error}") from error
        if self._stopped:  # by another thread in the meantime
            self._process.kill()
        try:
            ours.recv()  # it is up
        except EOFError as error:
            self._connection = ours
            code = self._end()
            raise WorkerDied(
                f"a worker process did not start (exit code {code}); see {self._output_file}"
            ) from error
        self._connection = ours
        return ours

    def _end(self) -> int | None:
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is None:
            return None
        process.kill()
        return process.wait()


def main(file_descriptor: int, module: str) -> None:
    """Answer calls until the parent goes away. Ctrl-C in the terminal is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(file_descriptor)
    importlib.import_module(module)
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    connection.send("up")
    while True:
        try:
            function, arguments = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        try:
            answer = (True, function(*arguments))
        except Exception as error:  # noqa: BLE001  whatever it is, it is the caller's
            answer = (False, (type(error).__name__, str(error), traceback.format_exc()))
        with contextlib.suppress(OSError):
            connection.send(answer)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
