"""The files of an export."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from ..files import write_atomically
from ..program import Program
from ..program.c import header_text
from .arena import lines
from .errors import ExportError
from .golden import struct_bytes
from .network import PlacedNetwork
from .readme import readme
from .simulator import copy_simulator
from .sources import host_source, layer_table, net_header, net_source

_FILES = {
    "main.c": "main.c",
    "data.S": "data.S",
    "Makefile": "Makefile",
    "platform.h": "platform/platform.h",
    "native.cc": "platform/native.cc",
}


def check_folder(folder: Path) -> None:
    """Raise ExportError now for a folder that could not be written when all is done: an export
    goes to a new folder, or to one that is an export."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file, a folder is needed")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "net.h").is_file():
        raise ExportError(f"{folder} has other files in it; give a new folder, or an empty one")
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"{folder} cannot be written: the folder {folder.parent} does not exist")


def write_folder(
    folder: Path,
    network: PlacedNetwork,
    cycles: dict[str, int],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
) -> None:
    """Write all files; those of an export that was there go. `cycles` are of each program.

    Raises ExportError where the folder cannot be written.
    """
    try:
        _write(folder, network, cycles, inputs, outputs)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}") from error


def _write(
    folder: Path,
    network: PlacedNetwork,
    cycles: dict[str, int],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
    for part in ("kernels", "golden", "platform", "simulator"):
        (folder / part).mkdir(parents=True)
    programs = list(_programs(network).values())
    kernels = {kernel.name: kernel for kernel in network.kernels.values()}
    texts = {
        "net.h": net_header(network),
        "net.c": net_source(network),
        "host.c": host_source(network),
        "npu.h": header_text(),
        "simulator/layers.inc": layer_table(network, cycles, programs),
        "README.md": readme(network, cycles),
        **{f"kernels/{name}.c": kernel.text for name, kernel in kernels.items()},
        **{
            path: files(__package__).joinpath(f"files/{name}").read_text()
            for name, path in _FILES.items()
        },
    }
    for path, text in texts.items():
        write_atomically(folder / path, text.encode())
    with (folder / "weights.bin").open("wb") as weights:
        for array in network.calls.constants:
            weights.write(array.tobytes().ljust(lines(array.nbytes), b"\0"))
    write_atomically(folder / "golden/input.bin", struct_bytes(inputs))
    write_atomically(folder / "golden/output.bin", struct_bytes(outputs))
    data = b"".join(program.to_bytes() for program in programs)
    write_atomically(folder / "simulator/programs.bin", data)
    copy_simulator(network.config.kind, folder / "simulator")


def _programs(network: PlacedNetwork) -> dict[str, Program]:
    return {
        layer.program.name: layer.program for layer in network.layers if layer.program is not None
    }
