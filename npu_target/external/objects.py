"""What all ELFs of a kind of device have inside, compiled once and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

from ..core_sources import BARE_METAL, COUNTERS, TRAPS, core_source
from ..device import DeviceConfig, kind_of
from ..program.c import header_text
from ..simulator_sources import copy_simulator, has_simulator
from .errors import ElfError
from .toolchain import BAREMETAL, EMULATED, LINUX, Toolchain

_OBJECT = "common.o"
_LOCK = ".lock"
# Of this package, and of what an export has as well.
_FILES = {
    LINUX: ("run.h", "main.c", "measured.c"),
    BAREMETAL: ("run.h", "main.c", "measured.c"),
    EMULATED: ("run.h", "main.c", "emulated.cc"),
}
_CORE_SOURCES = {
    LINUX: COUNTERS,
    BAREMETAL: (*COUNTERS, *BARE_METAL),
    EMULATED: (*COUNTERS, *TRAPS),
}
_KEPT = (".h", ".ld")
_COMPILE_SECONDS = 1800.0


def common_object(config: DeviceConfig, toolchain: Toolchain, cache: Path) -> Path:
    """The folder with headers, linker scripts and `common.o` for ELFs of this kind of device,
    made in `cache` unless it is there.

    Raises ElfError for a kind that EMULATED has no simulator of, for one whose commands no core
    could issue otherwise, for sources that the compiler refuses, and for a folder that cannot be
    written.
    """
    kind = kind_of(config)
    if toolchain.flavour == EMULATED and not has_simulator(config.kind):
        raise ElfError(f"there is no simulator in C++ of devices of kind {config.kind}")
    if toolchain.flavour != EMULATED and kind.start_header_at is None:
        raise ElfError(kind.no_instructions)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / _LOCK).open("w") as lock:
            # Others that need the same wait for it; the system opens the lock when this ends.
            fcntl.flock(lock, fcntl.LOCK_EX)
            with tempfile.TemporaryDirectory(prefix=".new-", dir=cache) as name:
                return _made(config, toolchain, Path(name), cache)
    except OSError as error:
        raise ElfError(f"{cache} cannot be written: {error.strerror or error}") from error


def _made(config: DeviceConfig, toolchain: Toolchain, new: Path, cache: Path) -> Path:
    _write_sources(config, toolchain.flavour, new)
    made = cache / f"{toolchain.flavour}-{_digest(new, toolchain)}"
    if not (made / _OBJECT).exists():
        _compile(toolchain, new)
        new.rename(made)
        new.mkdir()  # which is deleted where it was
    return made


def _write_sources(config: DeviceConfig, flavour: str, folder: Path) -> None:
    (folder / "npu.h").write_text(header_text())
    kind = kind_of(config)
    # What traps needs no device that is ready for it.
    is_free = flavour == EMULATED and kind.start_header_at is None
    start = "static inline void npu_start(void) {}\n" if is_free else kind.start_header()
    (folder / "npu_start.h").write_text(start)
    for name in _FILES[flavour]:
        (folder / name).write_text(files(__package__).joinpath(f"files/{name}").read_text())
    for name in _CORE_SOURCES[flavour]:
        (folder / name).write_text(core_source(name))
    if flavour == EMULATED:
        copy_simulator(config.kind, folder / "simulator")


def _digest(folder: Path, toolchain: Toolchain) -> str:
    found = hashlib.sha256(repr((toolchain, toolchain.version)).encode())
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _compile(toolchain: Toolchain, folder: Path) -> None:
    """All sources as one object file; only that and the headers stay."""
    found = [*folder.iterdir(), *(folder / "simulator").glob("*")]
    sources = sorted(path for path in found if path.suffix in (".c", ".cc", ".S"))
    objects = [f"{index}.o" for index in range(len(sources))]

    def compile_one(source: Path, made: str) -> None:
        name = str(source.relative_to(folder))
        if source.suffix != ".cc":
            arguments = [*toolchain.c_flags, "-I.", "-c", name, "-o", made]
            toolchain.c(arguments, folder, _COMPILE_SECONDS)
        else:
            arguments = [*toolchain.cxx_flags, "-I.", "-Isimulator", "-c", name, "-o", made]
            toolchain.cxx(arguments, folder, _COMPILE_SECONDS)

    with ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        list(executor.map(compile_one, sources, objects))
    toolchain.c(["-nostdlib", "-r", *objects, "-o", _OBJECT], folder, _COMPILE_SECONDS)
    shutil.rmtree(folder / "simulator", ignore_errors=True)
    for path in folder.iterdir():
        if path.name != _OBJECT and path.suffix not in _KEPT:
            path.unlink()
