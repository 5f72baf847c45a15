"""What takes long to make, kept in the user's cache folder by all that it follows from.

That is what it is made of, whose digest names its file, and the code that makes it, of which each
version has a folder. Where either is another one, nothing is found.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import psutil
import tvm

from .checked_files import read_checked, write_checked
from .user_cache import user_cache

# Versions of code, and packages beside this one, of which things stay.
_MOST_VERSIONS = 8
_CODE = (".py", ".so")


class Kept:
    """Things of one kind, files in a folder of theirs.

    They cost time only: what cannot be read is as if it had not been kept, what cannot be written
    is not, and neither is what packages make that are no files, or newer ones than this process.
    What is read is what this very code has written, to the last bit.

    packages : whose code makes them, by name, beside this one.
    most : files that stay of a version of the code, the last ones; None for all.
    """

    def __init__(self, folder: str, packages: Iterable[str] = (), most: int | None = None) -> None:
        self._folder = user_cache() / folder
        self._packages = tuple(sorted({package_of(Kept), *packages}))
        self._most = most

    def read(self, digest: str) -> bytes | None:
        """What is kept by a digest, None if there is nothing."""
        path = self._path(digest)
        if path is None:
            return None
        try:
            return read_checked(path)
        except OSError:
            return None

    def write(self, digest: str, data: bytes) -> None:
        """Keep it."""
        path = self._path(digest)
        if path is None:
            return
        try:
            if not path.parent.exists():
                path.parent.mkdir(parents=True, exist_ok=True)  # others may keep some now
                for old in _all_but_last(self._folder, _MOST_VERSIONS):
                    shutil.rmtree(old, ignore_errors=True)
            write_checked(path, data)
            if self._most is not None:
                for old in _all_but_last(path.parent, self._most):
                    old.unlink(missing_ok=True)
        except OSError:
            pass

    def _path(self, digest: str) -> Path | None:
        """Where it is kept, None if it cannot be."""
        version = _version(self._packages)
        return None if version is None else self._folder / version / digest


def package_of(kind: type) -> str:
    """The name of the package that a class is in."""
    return kind.__module__.partition(".")[0]


@cache
def _version(packages: tuple[str, ...]) -> str | None:
    """Of these packages' code; None where that is not known."""
    found = hashlib.sha256(repr((tvm.__version__, np.__version__)).encode())
    try:
        for package in packages:
            files = _files(package)
            if not files or max(path.stat().st_mtime for path in files) > _began_at():
                return None
            for path in files:
                found.update(repr((path.name, path.stat().st_size)).encode())
                found.update(path.read_bytes())
    except OSError:
        return None
    return found.hexdigest()[:16]


def _files(package: str) -> list[Path]:
    """A package's, or that of a module that is none; none of what was typed in."""
    module = sys.modules.get(package)
    folders = [Path(path) for path in getattr(module, "__path__", ())]
    if not folders:
        file = getattr(module, "__file__", None)
        return [Path(file)] if file else []
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in _CODE)


def _began_at() -> float:
    """When this process did, in seconds of the system's clock: it may run older code than what has
    been written since."""
    # The system gives the time of its boot in whole seconds, and what follows pip begins within one
    # of the library's: hence from now back, not from there on.
    from_boot = psutil.Process().create_time() - psutil.boot_time()
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - from_boot)


def _all_but_last(folder: Path, most: int) -> list[Path]:
    """What is in a folder, but for the last written."""
    return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-most]
