"""Finding and loading the device library, once.

A leaf module: TVM's entry point runs it in the middle of `import tvm`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from ..errors import UserError

_LIBRARY_NAME = "libnpu_runtime.so"
_library: Any = None


class LibraryMissing(UserError, ImportError):
    """The device library is not where the package is; the text says how it gets there."""


def load_library() -> None:
    """Load the device library and so register everything in it. Later calls do nothing.

    Raises LibraryMissing when the library is not there, which is when the package was not installed
    (a checkout on the path is not enough).
    """
    global _library
    if _library is not None:
        return
    importlib.import_module("tvm")  # its libraries have to be loaded before ours
    if _library is not None:  # the entry point ran in between
        return
    import tvm_ffi

    _library = tvm_ffi.load_module(str(_find()))


def _find() -> Path:
    # An editable install keeps the sources in the checkout and the library in site-packages;
    # the package's path names both.
    folders = [Path(folder) for folder in sys.modules[__package__].__path__]
    for folder in folders:
        if (folder / _LIBRARY_NAME).is_file():
            return folder / _LIBRARY_NAME
    searched = " or ".join(str(folder) for folder in folders)
    raise LibraryMissing(
        f"{_LIBRARY_NAME} is not in {searched}; install the package: pip install -e ."
    )
