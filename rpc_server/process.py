"""Child processes of this package: started so that none outlives its parent.

A child gets a pipe as its stdin and leaves when that closes, so that even a parent that was
killed takes its children along. It runs in a session of its own: a Ctrl-C in the terminal goes
to the parent, which decides what stops and when.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from npu_target.errors import UserError
from npu_target.process_tree import descendants, kill_all

from .credentials import TOKEN_VARIABLE

STOP_SECONDS = 2.0


class ProcessError(UserError, RuntimeError):
    """A child that ended before it was ready."""


class Child:
    """A running `python -m module arguments...`, ready for use.

    `ready` is the line it printed when it came up. Raises ProcessError when it ends, or prints
    nothing for `wait_seconds`, before that; what it had to say went to stderr. Temporary files of
    its, and of what it starts, are in `folder`, which is made for it and goes with it.
    """

    def __init__(
        self, module: str, *arguments: str, wait_seconds: float = 60.0, folder: Path | None = None
    ) -> None:
        self.module = module
        self._folder = folder
        environment = dict(os.environ)
        environment.pop(TOKEN_VARIABLE, None)  # a door is its parent's, if there is one
        if folder is not None:
            folder.mkdir(mode=0o700)
            environment["TMPDIR"] = str(folder)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments, "--with-parent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        watchdog = threading.Timer(wait_seconds, self._process.kill)
        watchdog.start()
        try:
            self.ready = self._process.stdout.readline().strip()
        except BaseException:  # Ctrl-C: nobody has this object, to end the process
            self.kill()
            raise
        finally:
            watchdog.cancel()
        if not self.ready:
            self.stop()
            name = " ".join([module, *arguments[:2]])
            raise ProcessError(f"{name} did not start (exit code {self._process.returncode})")

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to leave, then end it and everything it started. Safe to call twice."""
        started = descendants(self._process.pid)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        kill_all(started)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """End it and everything it started at once, even where it is suspended or hung."""
        started = descendants(self._process.pid)
        self._process.kill()
        kill_all(started)
        self.stop()


def leave_with_parent() -> None:
    """In the child: end this process and its own children when stdin closes."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        kill_all(descendants(os.getpid()))
        os._exit(0)

    threading.Thread(target=watch, name="leave-with-parent", daemon=True).start()


class StopSignal:
    """SIGINT or SIGTERM, from the moment this is made: make it before saying that one is ready."""

    def __init__(self) -> None:
        # A pipe, since a handler may run at any step of a wait: the lock of an event, which it
        # would ask for, might be held by the very code that it interrupted.
        self._reader, self._writer = os.pipe()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._note())

    def _note(self) -> None:
        """Once is enough: further writes could block."""
        if not self.came(0):
            os.write(self._writer, b".")

    def wait(self, *gone: threading.Event) -> bool:
        """Block until the signal came (True), or until one of `gone` is set (False)."""
        while not any(event.is_set() for event in gone):
            if self.came(0.1):
                return True
        return False

    def came(self, wait_seconds: float) -> bool:
        """Whether the signal came, or comes in so many seconds."""
        return bool(select.select([self._reader], [], [], wait_seconds)[0])

    def also_with_parent(self) -> None:
        """Take it for the signal when stdin closes."""

        def watch() -> None:
            while os.read(0, 4096):
                pass
            self._note()

        threading.Thread(target=watch, name="stop-with-parent", daemon=True).start()


def stop_all(children: list[Child]) -> None:
    """Stop several at the same time."""
    threads = [threading.Thread(target=child.stop) for child in children]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 3 * STOP_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
