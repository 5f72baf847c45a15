"""Running a file, a saved program or a raw stream, on the simulated device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npu_target.device import DEFAULT_DEVICE, DeviceConfig, find, kind_of
from npu_target.files import open_atomically
from npu_target.program import Arg, Program

from .breakdown import named_counts
from .errors import SimError
from .external import External, external_result, run_external
from .stream import pack, read_stream
from .timeline import TimelineWriter

if TYPE_CHECKING:
    from npu_target.device_api import HostCost

FORMAT = "npu_target.sim/2"
_PROGRAM_MAGIC = b"NPUPROG"
# Where raw streams find their memory: what they touch of it costs memory, the rest nothing.
RAM_ADDRESS = 0x8000_0000
RAM_BYTES = 1 << 32
_BIAS_LIMIT = 1000


@dataclass(frozen=True)
class Options:
    """How to run. `device` is a preset or a file, None for the program's own device. `external` is
    what runs programs instead of the simulated one.

    `races` refuses raw streams that race, and programs where launches do not refuse them anyway.
    """

    device: str | None = None
    memory: str = "ddr3"
    repeat: int = 1
    races: bool = False
    name: str | None = None
    inputs: Mapping[str, Path] = field(default_factory=dict)
    outputs: Mapping[str, Path] = field(default_factory=dict)
    external: External | None = None


@dataclass(frozen=True)
class Timeline:
    """Who takes slices (see `device_api.profile`), and of which cycles."""

    writer: TimelineWriter
    start: int
    end: int


def run_file(path: Path, options: Options, timeline: Timeline | None = None) -> dict[str, Any]:
    """The result as `--json` writes it. Raises SimError, ProgramError, ConfigError, OSError, and
    RuntimeError for what the device refuses."""
    with path.open("rb") as file:
        is_program = file.read(len(_PROGRAM_MAGIC)) == _PROGRAM_MAGIC
    if is_program:
        return _run_program(path, options, timeline)
    return _run_stream(path, options, timeline)


def _timeline_arguments(timeline: Timeline | None, config: DeviceConfig) -> dict[str, Any]:
    from npu_target.device_api.profile import Window

    if timeline is None:
        return {}
    kind = kind_of(config)
    if not kind.profile.lanes:
        raise SimError(
            f"--timeline: the simulator of {kind.name} devices does not record what they do when "
            "(their kind has no lanes in its profile); leave --timeline out for cycles, "
            "multiply-accumulates and bytes"
        )
    timeline.writer.kind = kind
    window = Window(timeline.start, timeline.end)
    return {"window": window, "receiver": timeline.writer.receive}


def _over(memory: str, config: DeviceConfig) -> DeviceConfig:
    return config.with_ideal_memory() if memory == "ideal_memory" else config


def _run_stream(path: Path, options: Options, timeline: Timeline | None) -> dict[str, Any]:
    for option in ("inputs", "outputs"):
        if getattr(options, option):
            raise SimError(f"--{option[:-1]}: {path} is a raw stream, which has no arguments")
    if options.external is not None:
        raise SimError(f"--run-with: {path} is a raw stream; a command runs saved programs")
    config = find(options.device or DEFAULT_DEVICE)
    stream = read_stream(path, options.name, config)
    # It imports TVM, which takes a second that a wrong file should not cost.
    from npu_target.device_api.profile import profile_stream

    profiles = profile_stream(
        _over(options.memory, config),
        (RAM_ADDRESS, RAM_BYTES),
        pack(stream.setup),
        pack(stream.issues),
        options.repeat,
        options.races,
        **_timeline_arguments(timeline, config),
    )
    return _result(path, stream.name, config, options, profiles)


def _run_program(path: Path, options: Options, timeline: Timeline | None) -> dict[str, Any]:
    if options.name is not None:
        raise SimError(f"--name: {path} is one program")
    program = Program.load(path)
    config = _device_of(program, options.device)
    program = replace(program, config=config)
    arrays = _arguments(program, options)
    if options.external is not None:
        runner, cycles, found = run_external(program, arrays, options.external, options.repeat)
        _save_outputs(options, found)
        more = {"format": FORMAT, "file": str(path), "outputs": _digests(program, found)}
        return external_result(program, runner, cycles, **more)
    import tvm

    from npu_target.device_api import host_cost
    from npu_target.device_api.profile import profile_program

    tensors = {name: tvm.runtime.tensor(array) for name, array in arrays.items()}
    profiles = profile_program(
        program.to_bytes(),
        list(tensors.values()),
        _over(options.memory, config),
        options.repeat,
        options.races,
        **_timeline_arguments(timeline, config),
    )
    found = {name: tensor.numpy() for name, tensor in tensors.items()}
    _save_outputs(options, found)
    result = _result(path, program.name, config, options, profiles)
    result["outputs"] = _digests(program, found)
    result["host"] = _host(host_cost(program.to_bytes()), result["runs"][0])
    return result


def _save_outputs(options: Options, arrays: Mapping[str, np.ndarray]) -> None:
    for name, target in options.outputs.items():
        with open_atomically(target) as file:
            np.save(file, arrays[name])


def _digests(program: Program, arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """The SHA-256 of each output."""
    return {
        arg.name: hashlib.sha256(arrays[arg.name].tobytes()).hexdigest()
        for arg in program.args
        if arg.role == "output"
    }


def _host(cost: HostCost, cold: Mapping[str, Any]) -> dict[str, float]:
    """What the program asks of the host core; the share is of the cycles of the run that began
    with cold caches."""
    return {
        "instructions_per_command": cost.instructions_per_command,
        "loop_bytes": cost.loop_bytes,
        "once_bytes": cost.once_bytes,
        "once_share": cold["host_once_cycles"] / max(1, cold["cycles"]),
    }


def _device_of(program: Program, device: str | None) -> DeviceConfig:
    if device is None:
        return program.config
    config = find(device)
    if config.kind != program.config.kind:
        raise SimError(
            f"--device {device}: program {program.name} was compiled for a device of kind "
            f"{program.config.kind}, this is one of kind {config.kind}"
        )
    for name in kind_of(program.config).shape_fields:
        needs, has = getattr(program.config, name), getattr(config, name)
        if needs != has:
            raise SimError(
                f"--device {device}: program {program.name} was compiled for {name} {needs}, "
                f"the device has {has}; compile it for that device"
            )
    return config


def _arguments(program: Program, options: Options) -> dict[str, np.ndarray]:
    """Every tensor by name: inputs from their files, else the same random numbers every time."""
    arrays = {}
    names = {arg.name: arg for arg in program.args}
    for option, given, role in (
        ("--input", options.inputs, "input"),
        ("--output", options.outputs, "output"),
    ):
        for name in given:
            if name not in names or names[name].role != role:
                known = ", ".join(arg.name for arg in program.args if arg.role == role)
                raise SimError(f"{option} {name}: program {program.name} has the {role}s {known}")
    for index, arg in enumerate(program.args):
        if arg.name in options.inputs:
            arrays[arg.name] = _load(arg, options.inputs[arg.name])
        elif arg.role == "input":
            arrays[arg.name] = _random(arg, index)
        else:
            arrays[arg.name] = np.zeros(arg.shape, arg.dtype)
    return arrays


def _load(arg: Arg, path: Path) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise SimError(f"--input {arg.name}: {path}: not an array saved by NumPy") from error
    if not isinstance(array, np.ndarray) or (array.dtype, array.shape) != (
        np.dtype(arg.dtype),
        arg.shape,
    ):
        has = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else "several"
        raise SimError(f"--input {arg.name}: {path}: needs {arg.dtype}{list(arg.shape)}, has {has}")
    return np.ascontiguousarray(array)


def _random(arg: Arg, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    dtype = np.dtype(arg.dtype)
    if dtype.kind == "f":
        return generator.standard_normal(arg.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, arg.shape).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = max(int(limits.min), -_BIAS_LIMIT), min(int(limits.max), _BIAS_LIMIT)
    return generator.integers(low, high, arg.shape, dtype, endpoint=True)


def _result(
    path: Path, name: str, config: DeviceConfig, options: Options, profiles: list[Any]
) -> dict[str, Any]:
    runs = [_run(profile, config) for profile in profiles]
    last = {key: value for key, value in runs[-1].items() if key != "cycles"}
    return {
        "format": FORMAT,
        "file": str(path),
        "name": name,
        "device": config.name,
        "kind": config.kind,
        "dim": config.dim,
        "peak_macs": config.peak_macs,
        "memory": options.memory,
        "cycles": [run["cycles"] for run in runs],
        **last,
        "runs": runs,
    }


def _run(profile: Any, config: DeviceConfig) -> dict[str, Any]:
    peak = profile.cycles * config.peak_macs
    kind, parts = kind_of(config), profile.parts
    return {
        "cycles": profile.cycles,
        "commands": profile.commands,
        "macs": profile.macs,
        "utilization": profile.macs / peak if peak else 0.0,
        "bytes_loaded": profile.bytes_loaded,
        "bytes_stored": profile.bytes_stored,
        **profile.named,
        "host_instructions": profile.host_instructions,
        "host_once_cycles": profile.host_once_cycles,
        "breakdown": parts.get("breakdown", {}),
        "issued": named_counts(parts.get("issued", {}), kind.commands),
        "unrolled": named_counts(parts.get("unrolled", {}), kind.commands),
    }
