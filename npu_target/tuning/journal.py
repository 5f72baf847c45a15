"""Files of JSON lines that are only ever appended to, one whole line at a time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import LogError

# Says what is wrong with a parsed line, or returns None for a good one.
LineCheck = Callable[[Any], "str | None"]


@dataclass(frozen=True)
class Line:
    """A line as it is in its file, without its end, and what is wrong with it, None for a good
    one. A bad line has no value, unless it lacks nothing but its end."""

    data: bytes
    value: Any
    problem: str | None


class Journal:
    """An open file of JSON lines. Safe to append to from several threads."""

    def __init__(self, path: Path) -> None:
        """Open for appending, creating it if need be. Raises LogError where that fails."""
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o666)
        except OSError as error:
            raise self._cannot_write(error.strerror) from error
        self._lock = threading.Lock()

    def append(self, line: bytes) -> None:
        """Write one line and hand it to the operating system before returning.

        Raises LogError when not all of it could be written; the file then ends as before.
        """
        line += b"\n"
        with self._lock:
            try:
                size = os.fstat(self._file).st_size
                written = os.write(self._file, line)
                if written < len(line):
                    os.ftruncate(self._file, size)
                    raise self._cannot_write("no space left; free some")
            except OSError as error:
                raise self._cannot_write(error.strerror) from error

    def _cannot_write(self, reason: str | None) -> LogError:
        return LogError(f"{self.path} cannot be written: {reason}")

    def close(self) -> None:
        os.close(self._file)


def encode(value: Any) -> bytes:
    """A value as a line, without its end."""
    return json.dumps(value, separators=(",", ":")).encode()


def parse_line(data: bytes, check: LineCheck) -> Line:
    """A line of its bytes and what `check` has to say of it."""
    try:
        value = json.loads(data)
        problem = check(value)
    except (ValueError, RecursionError):
        return Line(data, None, "is not JSON")
    return Line(data, value if problem is None else None, problem)


def read_lines(path: Path, check: LineCheck) -> list[Line]:
    """The lines of a journal; a file that does not exist has none. Raises LogError for one that
    cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}") from error
    *whole, rest = data.split(b"\n")
    lines = [parse_line(line, check) for line in whole]
    if rest:
        lines.append(Line(rest, parse_line(rest, check).value, "is cut off"))
    return lines
