"""The simulated device: loads the C++ library and wraps its functions.

Importing this module imports TVM. The library registers `device_api.ext_dev`,
`runtime.timer.ext_dev` and the runtime module kind "npu"; `import tvm` alone does so too, through
the entry point in `npu_target._register`.

Errors of the device are RuntimeError with a text `NpuDeviceError [kind] ...`, with the kinds
bad_program, address_out_of_range, undefined_configuration, garbage_operand, unsupported_command,
timed_out, race and deadlock.

The library has simulators of some kinds of device compiled in; a package brings that of another one
as a function, see `simulators`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import tvm_ffi

from ._library import load_library

load_library()


class Device(Protocol):
    """What a device says of itself (`npu_target.device.DeviceConfig`): its kind and its numbers."""

    @property
    def kind(self) -> str: ...

    def numbers(self) -> dict[str, int]: ...


@dataclass(frozen=True)
class LaunchStats:
    """What one launch did and what it cost; the counts are of commands as they state themselves.

    `macs` counts multiply-accumulates without padding, `bytes_loaded` what loads read (zero fills
    read nothing), `host_stall_cycles` the host's waits for room in the queues. `named` is what else
    the kind of device counts, by name.
    """

    program: str
    cycles: int
    commands: int
    macs: int
    bytes_loaded: int
    bytes_stored: int
    host_stall_cycles: int
    named: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamResult:
    """DRAM and the device's own memories, by name, after a raw command stream; its statistics."""

    memory: bytes
    memories: Mapping[str, bytes]
    stats: LaunchStats


@dataclass(frozen=True)
class HostCost:
    """What a program asks of the core that issues it, by the model in docs/program.md.

    `loop_bytes` is code inside loops, `once_bytes` all other, and `once_cycles` what the latter
    takes from a cold cache, with the waits for its lines.
    """

    instructions: int
    commands: int
    loop_bytes: int
    once_bytes: int
    once_cycles: int

    @property
    def instructions_per_command(self) -> float:
        return self.instructions / max(1, self.commands)


@dataclass(frozen=True)
class CommandCounts:
    """How often a program's commands likely run, told from its loops: those whose extent is not
    known are taken as entered once, and a condition as the share of iterations in which it holds.

    `classes` are counts by the class of the command, `arguments` by the argument (or constant)
    whose address it has; `iterations` are of all loops together, `operand_steps` additions to words
    that run along loops. `sure` commands run in any case.
    """

    classes: tuple[int, ...]
    arguments: tuple[int, ...]
    iterations: int
    operand_steps: int
    sure: int


def create_module(programs: Mapping[str, bytes]) -> Any:
    """A runtime module (kind "npu") with one function per program file, by name.

    A function takes the program's tensors in the order of its arguments, in host or `ext_dev`
    memory, and works on them in place. Raises RuntimeError [bad_program] for a malformed program;
    the functions raise it for tensors of the wrong number, dtype, shape or layout.
    """
    return _call("npu.module.create", dict(programs))


def last_stats() -> LaunchStats | None:
    """The statistics of the latest launch in this process, None before the first."""
    fields = json.loads(str(_call("npu.sim.last_stats")))
    return LaunchStats(**fields) if fields else None


def set_limits(max_cycles: int = 0) -> None:
    """Make launches of this process raise [timed_out] past `max_cycles`; 0 removes the limit."""
    _call("npu.sim.set_limits", max_cycles)


def set_race_checks(enabled: bool) -> None:
    """Make launches of this process raise [race], or not, where a program's result depends on an
    order of commands that the hardware does not keep."""
    _call("npu.sim.set_race_checks", enabled)


@contextmanager
def without_race_checks() -> Iterator[None]:
    """Launches inside of it do not raise [race]: for programs of others."""
    set_race_checks(False)
    try:
        yield
    finally:
        set_race_checks(True)


def program_cycles(program: bytes, max_cycles: int = 0, device: Device | None = None) -> int | None:
    """Simulated cycles of one run of a program file with cold caches; None past `max_cycles`
    (0: no limit). `device` is another one, of the same kind, than the program's own. No values are
    computed, which would take several times as long, and addresses are not checked: for programs
    that the compiler made.

    Raises RuntimeError [bad_program] for a malformed program, and [race] for one whose result
    depends on an order of commands that the hardware does not keep, on kinds of device that look
    for such without values: Gemmini and VTA do, of which the program brings its micro-ops along.
    """
    numbers = plain_numbers(device.numbers()) if device is not None else {}
    cycles = int(_call("npu.sim.program_cycles", program, max_cycles, numbers))
    return None if cycles < 0 else cycles


def sequence_cycles(
    programs: Sequence[bytes], addresses: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Simulated cycles of each program file, from a fence to a fence, when they run one after
    another on one device whose caches are cold at first. `addresses` are those of each program's
    arguments, in DRAM. As in `program_cycles` no values are computed, and no addresses checked; for
    races VTA's rows are not looked at, those of each program are in `program_cycles`.

    Raises RuntimeError [bad_program] for a malformed program, or programs of several devices, and
    [race] as `program_cycles` does.
    """
    places = [[_as_int64(address) for address in each] for each in addresses]
    return tuple(int(cycles) for cycles in _call("npu.sim.sequence_cycles", programs, places))


def expand_program(program: bytes, addresses: Sequence[int]) -> bytes:
    """The command stream of a program file, as triples (funct, rs1, rs2) of little-endian uint64.

    `addresses` holds one DRAM address per argument. Raises RuntimeError [bad_program].
    """
    return bytes(_call("npu.program.expand", program, [_as_int64(a) for a in addresses]))


def host_cost(program: bytes) -> HostCost:
    """What a program file costs the host core of the device in it. Raises RuntimeError
    [bad_program]."""
    return HostCost(*_call("npu.program.host_cost", program))


def command_counts(program: bytes, classes: Sequence[Sequence[int]]) -> CommandCounts:
    """How often the commands of a program file likely run; `classes` as `rewritten_codes` takes
    them. Raises RuntimeError [bad_program]."""
    found = _call("npu.program.command_counts", program, classes)
    by_class, by_argument, others = (tuple(map(int, counts)) for counts in found)
    return CommandCounts(by_class, by_argument, *others)


def rewritten_codes(
    program: bytes, classes: Sequence[Sequence[int]], passes: Sequence[str], shows: bool
) -> list[tuple[str, bytes]]:
    """A program file rewritten for its host by the named passes: names of passes with what each
    leaves, if it `shows` them, and last "" with what it is then; each as expressions and body, the
    end of such a file.

    `classes` are the device's classes of commands: funct, mask and value of the tag, whether it is
    a setting, whether it is computing, whether it starts a loop of the device's own, then of each
    number of a row the word that it is in (0 or 1), its lowest bit and its width. Raises
    RuntimeError [bad_program] for a malformed program, and for one that would divide by zero.
    """
    found = _call("npu.program.rewritten", program, classes, passes, shows)
    return [(str(name), bytes(code)) for name, code in zip(found[::2], found[1::2], strict=True)]


def validate_program(program: bytes) -> None:
    """Raise RuntimeError [bad_program] unless `program` is a well-formed program file."""
    _call("npu.program.validate", program)


def check_config(kind: str, numbers: Mapping[str, int]) -> None:
    """Raise RuntimeError [bad_program] unless the device library can be a device of this kind and
    these numbers; those that the kind's DeviceConfig accepts are accepted. Of a kind that the
    library does not have, only the numbers of the host are looked at."""
    _call("npu.sim.check_config", kind, plain_numbers(numbers))


def run_stream(
    device: Device,
    commands: bytes,
    base: int,
    memory: bytes,
    memories: Mapping[str, bytes] | None = None,
    races: bool = False,
) -> StreamResult:
    """Run raw commands, packed as `expand_program` packs them, on a device of its own.

    `memory` is the only DRAM there is, writable, from address `base` on; `memories` are contents of
    the device's own ones at the start (whole, in the host's byte order), undefined where not given;
    `races` refuses streams whose result depends on an order that the hardware does not keep.
    Raises RuntimeError with the device's error kinds.
    """
    dram, own, stats = _call(
        "npu.sim.run_stream",
        device.kind,
        plain_numbers(device.numbers()),
        commands,
        _as_int64(base),
        memory,
        dict(memories or {}),
        races,
    )
    return StreamResult(
        memory=bytes(dram),
        memories={str(name): bytes(data) for name, data in own.items()},
        stats=LaunchStats(**json.loads(str(stats))),
    )


def plain_numbers(numbers: Mapping[str, int]) -> dict[str, int]:
    """As TVM's FFI carries them, flags as 0 and 1."""
    return {name: int(value) for name, value in numbers.items()}


def _call(name: str, *args: Any) -> Any:
    return tvm_ffi.get_global_func(name)(*args)


def _as_int64(address: int) -> int:
    """An address as the signed 64-bit number TVM's FFI carries."""
    if not 0 <= address < 2**64:
        raise ValueError(f"address {address:#x}: needs 64 bits")
    return address - 2**64 if address >= 2**63 else address
