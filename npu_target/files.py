"""Writing files so that a reader, or a crash, never sees half of one; names for them."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import UserError

Pathish = str | os.PathLike[str]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_name(what: str, name: object, error: type[Exception]) -> None:
    """Raise `error` unless `name` (of a device, of a model) is safe as a part of a path."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = repr(name) if len(repr(name)) <= 60 else repr(name)[:60] + "..."
        raise error(
            f"{what} is {shown}, must be 1 to 100 of the characters A-Z a-z 0-9 . _ - and begin "
            "with a letter or a digit, since folders are named after it"
        )


class WriteError(UserError, RuntimeError):
    """A place that cannot be written to; the text says which, and why."""


def check_can_write(path: Path) -> None:
    """Raise WriteError now for a file that could not be written when all is done. Leaves nothing,
    and does not touch what is there."""
    try:
        if path.is_dir():
            raise WriteError(f"{path} is a folder, a file is needed")
        if is_special(path):
            if not os.access(path, os.W_OK):
                raise WriteError(f"{path} cannot be written: Permission denied")
            return
        folder = path.resolve().parent
        if not folder.is_dir():
            raise WriteError(f"{path} cannot be written: the folder {path.parent} does not exist")
        # The rights alone do not tell: the file system may be read-only, or full.
        with tempfile.NamedTemporaryFile(prefix=".npu-check-", dir=folder):
            pass
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}") from error


def is_special(path: Path) -> bool:
    """Whether there is a device or a pipe, which is written to and must not be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_atomically(path: Pathish, data: bytes) -> None:
    """Write `data` beside `path` and rename it into place; into a device or a pipe, directly.

    Raises OSError when the folder does not exist or cannot be written.
    """
    with open_atomically(path) as file:
        file.write(data)


@contextmanager
def open_atomically(path: Pathish) -> Iterator[BinaryIO]:
    """A file beside `path` that is renamed into place at the end, or removed after an exception.
    A link stays, what it points to is replaced. A device or a pipe is itself what is opened.

    Raises OSError when the folder does not exist or cannot be written.
    """
    target = Path(path).resolve()
    if is_special(target):
        with target.open("wb") as special:
            yield special
        return
    # Not by `tempfile`, whose files are private: the result has the mode of any new file.
    beside = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with ExitStack() as undo:
        undo.callback(beside.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.replace(beside, target)
        undo.pop_all()
