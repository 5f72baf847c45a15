"""Compiling a network whose kernels are scheduled, and writing it into one file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import tvm

from .built_file import Built, seal
from .files import check_can_write, is_special
from .host import build_with_host
from .pack_constants import pack_constants
from .tuning.errors import TuningError
from .tuning.failure import last_line


def compile_network(mod: tvm.ir.IRModule) -> tvm.runtime.Executable:
    """A partitioned module as an executable of the Relax virtual machine, its scheduled kernels
    for the device as programs inside, with their weights as they load them, the rest compiled for
    this host by LLVM."""
    return build_with_host(pack_constants(mod), tvm.target.Target("llvm"), "npu")


def check_can_write_built(path: Path) -> None:
    """Raise WriteError for a place where a network cannot be written, TuningError for a device or a
    pipe, before any work is done for it."""
    check_can_write(path)
    if is_special(path):
        raise TuningError(f"{path} is a device or a pipe; a built network is a file")


def write_built(executable: tvm.runtime.Executable, path: Path, built: Built) -> None:
    """Write a shared library with its description, beside `path` first. Raises TuningError where
    that fails, and what `check_can_write_built` does."""
    check_can_write_built(path)
    path = path.resolve()  # a link stays
    with tempfile.TemporaryDirectory(prefix=".npu-build-", dir=path.parent) as folder:
        library = Path(folder) / "network.so"
        try:
            executable.export_library(str(library))
            seal(library, built)
            os.replace(library, path)
        except (RuntimeError, OSError) as error:
            raise TuningError(
                f"{path} cannot be made: {_said(error)}; a C++ compiler (g++) is needed, and a "
                "folder with room that can be written"
            ) from error


def _said(error: RuntimeError | OSError) -> str:
    """The line that says most. Of a compiler that is the first: the last ones are who called whom,
    and TVM's command line."""
    _, found, said = str(error).partition("Compilation error:\n")
    return said.splitlines()[0] if found and said.strip() else last_line(error)
