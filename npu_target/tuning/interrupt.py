"""Ctrl-C that loses nothing: the run is asked to stop, and stops between two steps."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

_STOPPING = b"\nstopping after the current step (again: at once)\n"


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
        # Past `print`: a buffered stream that the signal interrupted would refuse a second writer.
        if sys.__stderr__ is not None:
            with contextlib.suppress(OSError, ValueError):  # its terminal is gone, or it is closed
                os.write(sys.__stderr__.fileno(), _STOPPING)
        for each in self._before:
            signal.signal(each, signal.SIG_DFL)
