"""Writing files so that a reader, or a crash, never sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

Pathish = str | os.PathLike[str]


def write_atomically(path: Pathish, data: bytes) -> None:
    """Write `data` beside `path` and rename it into place.

    Raises OSError when the folder does not exist or cannot be written.
    """
    with open_atomically(path) as file:
        file.write(data)


@contextmanager
def open_atomically(path: Pathish) -> Iterator[BinaryIO]:
    """A file beside `path` that is renamed into place at the end, or removed after an exception.

    Raises OSError when the folder does not exist or cannot be written.
    """
    target = Path(path)
    descriptor, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    with ExitStack() as undo:
        undo.callback(Path(beside).unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            yield file
        # mkstemp makes files private; give the result the mode a plain open() would have.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, 0o666 & ~mask)
        os.replace(beside, target)
        undo.pop_all()
