"""Ending processes together with all that they started, or that started them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from multiprocessing import parent_process
from multiprocessing.connection import wait

import psutil


def descendants(pid: int) -> list[psutil.Process]:
    """All that a process has started, and what these have; none of a process that is gone."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill those that still run."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def end_with_parent() -> None:
    """Let this process, which `multiprocessing` started, end as soon as the one that did is gone:
    of itself it would finish its job first, and then wait for another one for ever."""
    parent = parent_process()
    assert parent is not None, "nothing started this process"

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
