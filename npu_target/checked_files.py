"""Files that tell whether they are whole: a line with the content's SHA-256, then the content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .files import write_atomically


def write_checked(path: Path, content: bytes) -> None:
    """Raises OSError when the folder does not exist or cannot be written."""
    write_atomically(path, _digest(content) + b"\n" + content)


def read_checked(path: Path) -> bytes | None:
    """The content, to the last bit as it was written; None for a damaged file.

    Raises OSError for one that is not there or cannot be read.
    """
    digest, _, content = path.read_bytes().partition(b"\n")
    return content if digest == _digest(content) else None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
