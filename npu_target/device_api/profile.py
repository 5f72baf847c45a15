"""Programs and raw streams, run on the simulated device for where their cycles go."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm_ffi

from . import Device, plain_numbers

# Takes slices of the timeline, as the kind of device packs them, many at a time; False asks for no
# more of them.
SliceReceiver = Callable[[bytes], bool]


@dataclass(frozen=True)
class Profile:
    """One run from a fence to a fence.

    The first numbers are those of `LaunchStats`. `host_instructions` are those that the host ran
    for a program, `host_once_cycles` its cycles in code outside of loops; both are 0 for a raw
    stream, which says when its commands come. `parts` is what the kind of device says beyond that:
    numbers by name, by what they are of; nothing where it records nothing.
    """

    cycles: int
    commands: int
    macs: int
    bytes_loaded: int
    bytes_stored: int
    host_stall_cycles: int
    named: Mapping[str, int]
    host_instructions: int
    host_once_cycles: int
    parts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Window:
    """The cycles [start, end) of a timeline, from the start of the first run."""

    start: int = 0
    end: int = 2**62


WHOLE = Window()


def profile_program(
    program: bytes,
    tensors: Sequence[Any],
    device: Device | None = None,
    repeats: int = 1,
    races: bool = False,
    window: Window = WHOLE,
    receiver: SliceReceiver | None = None,
) -> list[Profile]:
    """Run a program file so many times on one device, the first time with cold caches.

    `tensors` are its arguments in order, worked on in place; `device` is another one, of the same
    kind, than the program's own; `races` refuses races even where launches do not. Raises
    RuntimeError with the device's error kinds, [unsupported_command] for a `receiver` where the
    kind of device records nothing.
    """
    numbers = plain_numbers(device.numbers()) if device is not None else {}
    return _profiles(
        _function("npu.sim.profile_program")(
            program, numbers, repeats, races, window.start, window.end, receiver, *tensors
        )
    )


def profile_stream(
    device: Device,
    ram: tuple[int, int],
    setup: bytes,
    commands: bytes,
    repeats: int = 1,
    races: bool = False,
    window: Window = WHOLE,
    receiver: SliceReceiver | None = None,
) -> list[Profile]:
    """Run a raw stream so many times on one device, the first time with cold caches.

    Commands are packed as (host cycles, funct, rs1, rs2), little-endian uint64; those of `setup`
    come before the first run and count in none. `ram` is the address and the size of the memory
    there is, all zeros; `races` refuses streams whose result depends on an order that the hardware
    does not keep. Raises RuntimeError with the device's error kinds.
    """
    return _profiles(
        _function("npu.sim.profile_stream")(
            device.kind,
            plain_numbers(device.numbers()),
            *ram,
            setup,
            commands,
            repeats,
            races,
            window.start,
            window.end,
            receiver,
        )
    )


def _function(name: str) -> Any:
    return tvm_ffi.get_global_func(name)


def _profiles(text: Any) -> list[Profile]:
    return [Profile(**run) for run in json.loads(str(text))]
