"""Exports compiled by the host's compiler and run in this process, and folders that make builds."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from kept_builds import KEPT
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


def simulator(folder: Path, *options: str) -> str:
    """The simulator of an export for this machine, made once for all of its device: an option of
    make."""
    return _simulator("SIMULATOR", "N", folder, *options)


def emulated_simulator(folder: Path, *options: str) -> str:
    """The same for a core that an emulator runs."""
    return _simulator("EMULATED_SIMULATOR", "Q", folder, *options)


def _simulator(variable: str, folder_variable: str, folder: Path, *options: str) -> str:
    kept = Path(os.environ[KEPT]) / _digest(folder, variable, *options)
    target = kept / "simulator.o"
    # The others wait for who makes it.
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            kept.mkdir(exist_ok=True)
            places = f"{variable}={target}", f"{folder_variable}={kept}"
            done = make(folder, "-j2", *options, *places, str(target))
            assert (done.returncode, done.stderr) == (0, "")
    return f"{variable}={target}"


def _digest(folder: Path, *options: str) -> str:
    """Of all that a simulator is made of."""
    digest = hashlib.sha256(repr(options).encode())
    sources = [path for path in (folder / "simulator").rglob("*") if path.suffix in (".cc", ".h")]
    for path in [folder / "Makefile", *sorted(sources)]:
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def copy_of(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def described(folder: Path) -> dict:
    """What an export says of itself, in FOLDER.json."""
    return json.loads(Path(f"{folder}.json").read_text())


def cycles_of(folder: Path) -> dict[str, int]:
    """The device's layers with their cycles, as the export says."""
    layers = described(folder)["layers"]
    return {layer["name"]: layer["cycles"] for layer in layers if layer["cycles"] is not None}


def layer_cycles(printed: str) -> dict[str, int]:
    """The device's layers with their cycles, as a run prints them."""
    lines = [line.split() for line in printed.splitlines()]
    return {line[2]: int(line[3]) for line in lines if len(line) == 4 and line[1] == "device"}
