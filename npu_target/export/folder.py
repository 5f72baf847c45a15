"""The files of an export."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from ..core_sources import BARE_METAL, COUNTERS, TRAPS, core_source
from ..device import DeviceConfig, kind_of
from ..files import open_atomically, write_atomically
from ..program import Program
from ..program.c import header_text
from ..simulator_sources import copy_simulator, has_simulator
from .arena import lines
from .c_text import wrapped
from .errors import ExportError
from .golden import Golden, struct_bytes
from .network import PlacedNetwork
from .readme import readme
from .sources import MADE, host_source, layer_table, net_header, net_source

NATIVE, DRIVER = "native", "driver"  # what make calls them
_FOLDERS = ("kernels", "golden", "platform")
_SIMULATOR = "simulator"  # a folder too, of kinds of device that have one
_TOP_FILES = ("main.c", "data.S", "Makefile")
_PLATFORM_FILES = (
    "beside.cc",
    "count.c",
    "mailbox.c",
    "mailbox.h",
    "native.cc",
    "platform.h",
    "riscv.c",
    "simulated.cc",
    "simulated.h",
)


def check_goal(config: DeviceConfig, goal: str) -> None:
    """Raise ExportError now where `goal` is to run what is simulated, and nothing does that, or is
    for the device's own core, and no C for that issues its commands. A driver takes any."""
    kind = kind_of(config)
    if goal == NATIVE and not has_simulator(config.kind):
        cores = "--for linux, --for baremetal or " if kind.start_header_at is not None else ""
        raise ExportError(
            f"there is no simulator in C++ of devices of kind {config.kind}: what is exported can "
            f"be run on the device alone; give {cores}--for driver"
        )
    if goal not in (NATIVE, DRIVER) and kind.start_header_at is None:
        simulated = "--for native or " if has_simulator(config.kind) else ""
        raise ExportError(f"{kind.no_instructions}; give {simulated}--for driver")


def check_folder(folder: Path) -> None:
    """Raise ExportError now for a folder that could not be written when all is done: an export
    goes to a new folder, or to one that is an export."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file, a folder is needed")
    if folder.is_dir() and any(folder.iterdir()) and not _is_export(folder):
        raise ExportError(f"{folder} has other files in it; give a new folder, or an empty one")
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"{folder} cannot be written: the folder {folder.parent} does not exist")
    try:  # the rights alone do not tell: the file system may be read-only, or full
        place = folder if folder.is_dir() else folder.resolve().parent
        with tempfile.TemporaryDirectory(prefix=".npu-check-", dir=place):
            pass
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}") from error


def _is_export(folder: Path) -> bool:
    try:
        return MADE in (folder / "net.h").read_text()
    except (OSError, UnicodeDecodeError):
        return False


def write_folder(
    folder: Path,
    network: PlacedNetwork,
    cycles: dict[str, int],
    golden: Golden,
    goal: str,
) -> None:
    """Write all files. Those of an export that was there go, what else is in the folder stays;
    nothing of it changes before all is written. `cycles` are of each program, `goal` is what a bare
    `make` builds.

    Raises ExportError where the folder cannot be written.
    """
    try:
        with _beside(folder) as new:
            _write(new, network, cycles, golden, goal)
            _put_into_place(new, folder)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}") from error


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new folder, gone afterwards with what is still in it: in the one that is there, which may
    be a file system of its own, or where that will be."""
    place = folder if folder.is_dir() else folder.resolve().parent
    # Not by `tempfile`, whose folders are private: this one stays.
    beside = place / f".npu-export-{secrets.token_hex(8)}"
    beside.mkdir()
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _put_into_place(new: Path, folder: Path) -> None:
    """By renaming alone, which needs no room."""
    if not folder.is_dir():
        new.rename(folder.resolve())
        return
    old = new / ".old"
    old.mkdir()
    for part in (*_FOLDERS, _SIMULATOR):
        if os.path.lexists(folder / part):
            (folder / part).rename(old / part)
    for entry in sorted(new.iterdir()):
        if entry != old:
            entry.replace(folder / entry.name)


def _write(
    folder: Path,
    network: PlacedNetwork,
    cycles: dict[str, int],
    golden: Golden,
    goal: str,
) -> None:
    for part in _FOLDERS:
        (folder / part).mkdir()
    kernels = {kernel.name: kernel for kernel in network.kernels.values()}
    texts = {
        "net.h": net_header(network),
        "net.c": wrapped(net_source(network)),
        "host.c": wrapped(host_source(network)),
        "npu.h": header_text(),
        "npu_start.h": kind_of(network.config).start_header(),
        "README.md": readme(network, cycles),
        **{f"kernels/{name}.c": kernel.text for name, kernel in kernels.items()},
        **{name: _text(name) for name in _TOP_FILES},
        **{f"platform/{name}": _text(name) for name in _PLATFORM_FILES},
        **{f"platform/{name}": core_source(name) for name in (*COUNTERS, *BARE_METAL, *TRAPS)},
    }
    texts["Makefile"] = texts["Makefile"].replace(
        f".DEFAULT_GOAL = {NATIVE}", f".DEFAULT_GOAL = {goal}"
    )
    for path, text in texts.items():
        write_atomically(folder / path, text.encode())
    with open_atomically(folder / "weights.bin") as weights:
        for array in network.calls.constants:
            nbytes = lines(array.nbytes, network.line_bytes)
            weights.write(array.tobytes().ljust(nbytes, b"\0"))
    write_atomically(folder / "golden/input.bin", struct_bytes(golden.inputs, network.line_bytes))
    write_atomically(folder / "golden/output.bin", struct_bytes(golden.outputs, network.line_bytes))
    if has_simulator(network.config.kind):
        _write_simulator(folder / _SIMULATOR, network, cycles)


def _write_simulator(folder: Path, network: PlacedNetwork, cycles: dict[str, int]) -> None:
    """The simulator, and the programs that kernels are compared with."""
    folder.mkdir()
    programs = list(_programs(network).values())
    write_atomically(folder / "layers.inc", layer_table(network, cycles, programs).encode())
    data = b"".join(program.to_bytes() for program in programs)
    write_atomically(folder / "programs.bin", data)
    copy_simulator(network.config.kind, folder)


def _text(name: str) -> str:
    return files(__package__).joinpath(f"files/{name}").read_text()


def _programs(network: PlacedNetwork) -> dict[str, Program]:
    return {
        layer.program.name: layer.program for layer in network.layers if layer.program is not None
    }
