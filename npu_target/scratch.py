"""Folders for what nobody needs afterwards, gone after every kind of end.

A process that ends in order removes its folder. One that was killed cannot: but its lock, on a
file beside the folder, ends with it, and the next one that needs a folder removes those without an
owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import UserError

_LOCK = ".lock"


class ScratchError(UserError, RuntimeError):
    """There is no place for temporary folders that is one's own."""


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A new empty folder, named after `purpose`, that only this user can read.

    It is this process's until the end of the block; processes that it starts may use it so long.
    Raises ScratchError.
    """
    home = _home()
    _clear(home)
    lock, descriptor = _new_lock(home, purpose)
    folder = lock.with_suffix("")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _home() -> Path:
    """The folder of all of these, in the system's for temporary files, where others have theirs."""
    home = Path(tempfile.gettempdir()) / f"npu_target-{os.getuid()}"
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        found = home.lstat()
    except OSError as error:
        raise ScratchError(
            f"{home} cannot be made: {error.strerror or error}; set TMPDIR to another folder"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ScratchError(
            f"{home} is not a folder that only you can use; remove it, or set TMPDIR to another one"
        )
    return home


def _new_lock(home: Path, purpose: str) -> tuple[Path, int]:
    """A lock that this process has, and its file descriptor, which processes that it starts do not
    inherit."""
    while True:
        descriptor, name = tempfile.mkstemp(_LOCK, f"{purpose}-", home)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.exists(name):
            return Path(name), descriptor
        os.close(descriptor)  # another process took it for one without an owner


def _clear(home: Path) -> None:
    """Remove the folders whose owners are gone."""
    for lock in home.glob(f"*{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)
