"""Programs and raw streams, run on the simulated device for where their cycles go."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm_ffi

# A slice of the timeline as the library packs it: this many little-endian int64.
SLICE_WORDS = 15
# Takes packed slices, many at a time; False asks for no more of them.
SliceReceiver = Callable[[bytes], bool]


@dataclass(frozen=True)
class Profile:
    """One run from a fence to a fence.

    `breakdown` has the cycles of each reason in the order of `npu_target.sim.breakdown.REASONS`;
    they add up to `cycles`. `issued` counts the host's commands by kind, `unrolled` those its
    LOOP_* commands came to; a kind is the funct, for configurations 128 + what rs1 says.
    `host_instructions` are those that the host ran for a program, `host_once_cycles` its cycles in
    code outside of loops; both are 0 for a raw stream, which says when its commands come.
    """

    cycles: int
    macs: int
    commands: int
    bytes_loaded: int
    bytes_stored: int
    l2_hits: int
    l2_misses: int
    host_instructions: int
    host_once_cycles: int
    breakdown: tuple[int, ...]
    issued: dict[int, int]
    unrolled: dict[int, int]


@dataclass(frozen=True)
class Window:
    """The cycles [start, end) of a timeline, from the start of the first run."""

    start: int = 0
    end: int = 2**62


WHOLE = Window()


def profile_program(
    program: bytes,
    tensors: Sequence[Any],
    config: Mapping[str, int] | None = None,
    repeats: int = 1,
    races: bool = False,
    window: Window = WHOLE,
    receiver: SliceReceiver | None = None,
) -> list[Profile]:
    """Run a program file so many times on one device, the first time with cold caches.

    `tensors` are its arguments in order, worked on in place; `config` are the numbers of another
    device than the program's own; `races` refuses races even where launches do not. Raises
    RuntimeError with the device's error kinds.
    """
    numbers = {name: int(value) for name, value in (config or {}).items()}
    return _profiles(
        _function("npu.sim.profile_program")(
            program, numbers, repeats, races, window.start, window.end, receiver, *tensors
        )
    )


def profile_stream(
    config: Mapping[str, int],
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
    numbers = {name: int(value) for name, value in config.items()}
    return _profiles(
        _function("npu.sim.profile_stream")(
            numbers, *ram, setup, commands, repeats, races, window.start, window.end, receiver
        )
    )


def _function(name: str) -> Any:
    return tvm_ffi.get_global_func(name)


def _profiles(text: Any) -> list[Profile]:
    return [
        Profile(
            breakdown=tuple(run.pop("breakdown")),
            issued=_by_kind(run.pop("issued")),
            unrolled=_by_kind(run.pop("unrolled")),
            **run,
        )
        for run in json.loads(str(text))
    ]


def _by_kind(counts: Mapping[str, int]) -> dict[int, int]:
    return {int(kind): count for kind, count in counts.items()}
