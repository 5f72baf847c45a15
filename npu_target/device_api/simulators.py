"""Simulators of kinds of device that the library does not have, written in Python.

A package that brings a kind of device registers a function for it, in its own process and in those
of its servers (`register_simulator`). Programs of that kind then run as all others do: by
`create_module`, on servers, timed by `time_evaluator`. One in C++ is a global function of TVM's FFI
called `npu.simulator.<kind>`, in a library of the package's own; `src/foreign_simulator.h` says
what it takes and returns.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi

_WORDS = 4  # of a command: host cycles, funct, two words


class DeviceError(RuntimeError):
    """What the device refuses to do, as those of this library say it.

    kind : bad_program, address_out_of_range, undefined_configuration, garbage_operand,
        unsupported_command, timed_out, race or deadlock.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"NpuDeviceError [{kind}] {message}")
        self.kind = kind


@dataclass(frozen=True)
class DramRange:
    """Bytes that lie at an address of the device's memory, and in the host's at another one."""

    address: int
    host_address: int
    nbytes: int
    is_writable: bool


class Dram:
    """The memory that a device shares with its host: the arguments of a program."""

    def __init__(self, ranges: Sequence[DramRange]) -> None:
        self.ranges = tuple(ranges)

    def array(
        self, address: int, dtype: Any, shape: tuple[int, ...], writable: bool = False
    ) -> np.ndarray:
        """The elements from an address on, as a view: writing to it writes the memory.

        Raises DeviceError address_out_of_range where no argument holds them all, and for writing
        into an input.
        """
        count = int(np.prod(shape, dtype=np.int64))
        nbytes = count * np.dtype(dtype).itemsize
        for held in self.ranges:
            offset = address - held.address
            if not 0 <= offset <= held.nbytes - nbytes:
                continue
            if writable and not held.is_writable:
                break
            buffer = (ctypes.c_uint8 * nbytes).from_address(held.host_address + offset)
            found = np.frombuffer(buffer, dtype, count).reshape(shape)
            found.flags.writeable = writable
            return found
        what = "writable " if writable else ""
        has = ", ".join(
            f"{'' if held.is_writable else 'read-only '}{held.address:#x} to "
            f"{held.address + held.nbytes:#x}"
            for held in self.ranges
        )
        raise DeviceError(
            "address_out_of_range",
            f"needs {nbytes} B of {what}DRAM at {address:#x}, has {has or 'none'}",
        )


@dataclass(frozen=True)
class DeviceRun:
    """What a host has a device do from one fence to the next.

    numbers : the device's (`DeviceConfig.numbers()`), flags as 0 and 1.
    host_cycles : uint64 [n], the cycles that the host spends before each command.
    functs : uint64 [n], their numbers.
    words : uint64 [n, 2], their words.
    dram : empty where no values are computed.
    computes_values : False where only the cycles are asked for, of a program known to be right.
    checks_races : whether what depends on an order that the device does not keep is an error.
    max_cycles : the run may stop with a DeviceError timed_out past so many; 0 for no limit.
    """

    numbers: Mapping[str, int]
    host_cycles: np.ndarray
    functs: np.ndarray
    words: np.ndarray
    dram: Dram
    computes_values: bool
    checks_races: bool
    max_cycles: int


# Returns "cycles" from the fence before to this one, the host's included; "macs", "bytes_loaded",
# "bytes_stored" and "host_stall_cycles" if it counts them; what else it counts by names of its own.
# Raises DeviceError. Caches begin cold each time.
Simulate = Callable[[DeviceRun], Mapping[str, int]]


def register_simulator(kind: str, simulate: Simulate) -> None:
    """Have all devices of a kind simulated by a function, from now on, in this process."""

    def call(numbers: Any, commands: Any, ranges: Any, options: Any) -> dict[str, int]:
        table = np.frombuffer(bytes(commands), "<u8").reshape(-1, _WORDS)
        run = DeviceRun(
            numbers={str(name): int(value) for name, value in numbers.items()},
            host_cycles=table[:, 0],
            functs=table[:, 1],
            words=table[:, 2:],
            dram=Dram([_range(*held) for held in ranges]),
            computes_values=bool(options["values"]),
            checks_races=bool(options["races"]),
            max_cycles=int(options["max_cycles"]),
        )
        try:
            return {name: int(value) for name, value in simulate(run).items()}
        except DeviceError as error:
            raise RuntimeError(str(error)) from error  # the kind that callers look for
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise RuntimeError(
                f"the simulator of {kind} fails at {place.filename}:{place.lineno}: "
                f"{type(error).__name__}: {error}"
            ) from error

    tvm_ffi.register_global_func(f"npu.simulator.{kind}", call, override=True)


def _range(address: int, host_address: int, nbytes: int, is_writable: int) -> DramRange:
    return DramRange(address % 2**64, host_address % 2**64, nbytes, bool(is_writable))
