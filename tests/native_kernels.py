"""Kernels printed as C, compiled by the host's compiler and run against a recorder of commands."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from npu_target.program import Program
from npu_target.program.c import header_text, kernel_name, kernel_source

COMPILER = shutil.which("gcc") or shutil.which("cc")
# Programs that are drawn may compare a value with itself.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-tautological-compare")
_RECORDER = """
#include <stdint.h>
#include <stdlib.h>
static uint64_t *words;
static uint64_t count, room;
void issue(uint64_t funct, uint64_t rs1, uint64_t rs2) {
  if (count + 3 > room) words = realloc(words, (room = 2 * room + 3 * 1024) * sizeof *words);
  words[count++] = funct;
  words[count++] = rs1;
  words[count++] = rs2;
}
const uint64_t *recorded(uint64_t *n) { *n = count; return words; }
"""


def _run(folder: Path, *options: str) -> None:
    assert COMPILER is not None
    subprocess.run([COMPILER, *WARNINGS, "-fPIC", *options], cwd=folder, check=True)


@cache
def _recorder() -> str:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name)
    (path / "recorder.c").write_text(_RECORDER, encoding="utf-8")
    _run(path, "-c", "recorder.c")
    return str(path / "recorder.o")


def compiled(program: Program, folder: Path, *options: str) -> Path:
    """A shared library of the kernel and the recorder."""
    (folder / "npu.h").write_text(header_text(), encoding="utf-8")
    (folder / "kernel.c").write_text(kernel_source(program), encoding="utf-8")
    _run(folder, "-shared", "-DNPU_ISSUE=issue", *options, "kernel.c", _recorder(), "-okernel.so")
    return folder / "kernel.so"


def issued(
    program: Program, addresses: Mapping[str, int], folder: Path, *options: str
) -> list[tuple[int, int, int]]:
    """The stream that the compiled kernel issues with its arguments at these addresses."""
    library = ctypes.CDLL(str(compiled(program, folder, *options)))
    pointers = [ctypes.c_void_p(addresses[arg.name]) for arg in program.args]
    getattr(library, kernel_name(program))(*pointers)
    count = ctypes.c_uint64()
    library.recorded.restype = ctypes.POINTER(ctypes.c_uint64)
    words = library.recorded(ctypes.byref(count))
    stream = words[: count.value] if count.value else []
    handle = library._handle
    del library
    ctypes.CDLL(None).dlclose(ctypes.c_void_p(handle))
    return list(zip(stream[0::3], stream[1::3], stream[2::3], strict=True))
