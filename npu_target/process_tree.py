"""Ending processes together with all that they started."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

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
