"""Exports compiled by the host's compiler and run in this process, and folders that make builds."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from native_kernels import COMPILER
from tvm.ir import IRModule

from npu_target.device import DeviceConfig
from npu_target.export.calls import calls_of
from npu_target.export.folder import write_folder
from npu_target.export.golden import Golden, struct_bytes
from npu_target.export.network import PlacedNetwork, place

FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-I.")
HAS_MAKE = COMPILER is not None and shutil.which("g++") and shutil.which("make")
SANITIZE = ("SANITIZE=address,undefined", "CFLAGS=-O1", "CXXFLAGS=-O1")

_simulators: dict[tuple[str, ...], Path] = {}  # by what make was told


def host_network(mod: IRModule, config: DeviceConfig) -> PlacedNetwork:
    """A module without kernels of the device, to be run by `run_host_network`."""
    return place("host", config, calls_of(mod))


def run_host_network(
    network: PlacedNetwork, inputs: Sequence[np.ndarray], folder: Path
) -> list[np.ndarray]:
    """What the C of a network that is all the host's says of these inputs."""
    outputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in network.calls.outputs]
    write_folder(folder, network, {}, Golden(inputs, outputs), "native")
    assert COMPILER is not None
    sources = ["net.c", "host.c", "data.S"]
    command = [COMPILER, *FLAGS, "-DNPU_ISSUE=issue", "-fPIC", "-shared", *sources]
    subprocess.run([*command, "-lm", "-o", "net.so"], cwd=folder, check=True)
    data, result = struct_bytes(inputs), bytearray(struct_bytes(outputs))
    # Structures lie at multiples of lines.
    given = (ctypes.c_uint8 * (len(data) + 64))()
    taken = (ctypes.c_uint8 * (len(result) + 64))()
    given_at, taken_at = ((64 - ctypes.addressof(block) % 64) % 64 for block in (given, taken))
    ctypes.memmove(ctypes.addressof(given) + given_at, data, len(data))
    library = ctypes.CDLL(str(folder / "net.so"))
    library.net_run(
        ctypes.c_void_p(ctypes.addressof(given) + given_at),
        ctypes.c_void_p(ctypes.addressof(taken) + taken_at),
    )
    result[:] = bytes(taken)[taken_at : taken_at + len(result)]
    offsets = np.cumsum([0, *(-(-array.nbytes // 64) * 64 for array in outputs)])
    return [
        np.frombuffer(result, array.dtype, array.size, offset).reshape(array.shape)
        for array, offset in zip(outputs, offsets, strict=False)
    ]


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in an export."""
    command = ["make", "-s", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)


def simulator(folder: Path, *options: str) -> Path:
    """The simulator's object file of an export, made once for all of them."""
    if options not in _simulators:
        _simulators[options] = _made_simulator(folder, *options)
    return _simulators[options]


def _made_simulator(folder: Path, *options: str) -> Path:
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    target = Path(kept.name) / "simulator.o"
    done = make(folder, "-j2", *options, f"SIMULATOR={target}", f"N={kept.name}", str(target))
    assert done.returncode == 0, done.stderr
    return target


def layer_cycles(printed: str) -> dict[str, int]:
    """The device's layers with their cycles, as a run prints them."""
    lines = [line.split() for line in printed.splitlines()]
    return {line[2]: int(line[3]) for line in lines if len(line) == 4 and line[1] == "device"}
