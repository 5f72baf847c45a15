"""Files of JSON lines that are only ever appended to, one whole line at a time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import LogError

# Says what is wrong with a parsed line, or returns None for a good one.
LineCheck = Callable[[Any], "str | None"]


class Journal:
    """An open file of JSON lines. Safe to append to from several threads."""

    def __init__(self, path: Path) -> None:
        """Open for appending, creating it if need be. Raises OSError where that fails."""
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._lock = threading.Lock()

    def append(self, value: Any) -> None:
        """Write one line and hand it to the operating system before returning.

        Raises LogError when not all of it could be written; the file then ends as before.
        """
        line = (json.dumps(value, separators=(",", ":")) + "\n").encode()
        with self._lock:
            size = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, line)
            except OSError as error:
                raise LogError(f"{self.path} cannot be written: {error.strerror}") from error
            if written < len(line):
                os.ftruncate(self._file, size)
                raise LogError(f"{self.path} cannot be written: no space left; free some")

    def close(self) -> None:
        os.close(self._file)


def read_lines(path: Path, check: LineCheck) -> tuple[list[Any], list[tuple[int, str]]]:
    """The lines of a journal, and what is wrong with it: (line number from 1, problem).

    Bad lines are None among the lines, but for a last one that lacks nothing but its end. A file
    that does not exist has no lines. Raises LogError for one that cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}") from error
    lines: list[Any] = []
    problems: list[tuple[int, str]] = []
    for number, line in enumerate(data.splitlines(), start=1):
        value: Any = None
        try:
            value = json.loads(line)
            problem = check(value)
        except ValueError:
            problem = "is not JSON"
        if problem is not None:
            problems.append((number, problem))
            value = None
        lines.append(value)
    if data and not data.endswith(b"\n"):
        number = len(lines)
        problems = [entry for entry in problems if entry[0] != number]
        problems.append((number, "is cut off"))
    return lines, problems
