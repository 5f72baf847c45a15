"""Ctrl-C that loses nothing: the run is asked to stop, and stops between two steps."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """While a `with` block lasts, SIGINT and SIGTERM set `requested` instead of raising.

    A second signal ends the process at once: everything that counts is on disk by then. In another
    thread than the main one, which gets no signals, nothing is done.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self.requested

    def __enter__(self) -> Interrupt:
        is_main = threading.current_thread() is threading.main_thread()
        for number in (signal.SIGINT, signal.SIGTERM) if is_main else ():
            self._before[number] = signal.signal(number, self._request)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, number: int, _: FrameType | None) -> None:
        self.requested = True
        print("\nstopping after the current step (again: at once)", file=sys.stderr, flush=True)
        for each in self._before:
            signal.signal(each, signal.SIG_DFL)
