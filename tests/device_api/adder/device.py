"""A device that is simulated in Python: one accumulator of int32, which loads, adds and stores.

Commands have number 0 and say all in their first word: bits 0 and 1 what to do, from bit 2 on the
address in units of 4 bytes; the second word is how many elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from npu_target.device import DeviceConfig, Limits, Memories, Memory
from npu_target.device_api.simulators import DeviceError, DeviceRun
from npu_target.program import Arg, Command, Loop, Operand, Program, const, var

LOAD, ADD, STORE = range(3)
UNIT = 2  # log2 of bytes
ROWS = 1 << 16  # elements of the accumulator


@dataclass(frozen=True)
class AdderConfig(DeviceConfig):
    kind: ClassVar[str] = "adder"
    limits: ClassVar[Limits] = Limits(Path(__file__).with_name("limits.def"))

    name: str = "adder"
    bytes_per_cycle: int = 8

    @property
    def dim(self) -> int:
        return 1

    @property
    def memories(self) -> Memories:
        sums = Memory("global.sums", "sums", ROWS, ROWS, 1, "int32")
        return Memories(sums, sums, sums)


# Each command costs its host a cycle, and nothing else does.
CONFIG = AdderConfig(
    host_cycles_per_instruction=0,
    host_branch_miss_cycles=0,
    host_icache_miss_cycles=0,
    host_icache_l2_cycles=0,
)


def command(what: int, argument: int, count: int, *offset: Any) -> Command:
    place = Operand.argument(argument, *offset, unit=UNIT) * (1 << 2)
    return Command(0, Operand.of(place, what), Operand(count))


def sum_program(
    rows: int, columns: int, config: AdderConfig = CONFIG, n_inputs: int = 2
) -> Program:
    """The sum of so many int32 matrices, a row at a time."""
    inputs = [Arg(f"x{i}", "input", "int32", (rows, columns)) for i in range(n_inputs)]
    row = columns * var(0)
    body = [command(LOAD if i == 0 else ADD, i, columns, row) for i in range(n_inputs)]
    body.append(command(STORE, n_inputs, columns, row))
    args = (*inputs, Arg("y", "output", "int32", (rows, columns)))
    return Program("sum", config, args, (Loop(0, const(rows), tuple(body)),))


def cycles_of(rows: int, columns: int, config: AdderConfig = CONFIG, n_inputs: int = 2) -> int:
    """What a run of `sum_program` takes."""
    moving = -(-4 * columns // config.bytes_per_cycle)
    return rows * (n_inputs + 1) * (moving + config.host_cycles_per_command)


def simulate(run: DeviceRun) -> dict[str, int]:
    cycles = moved = 0
    held: np.ndarray | None = None
    for index, (host_cycles, (word, count)) in enumerate(
        zip(run.host_cycles, run.words, strict=True)
    ):
        what, address, size = int(word) & 3, (int(word) >> 2) << UNIT, (int(count),)
        if what > STORE:
            raise DeviceError("unsupported_command", f"command {index}: has no meaning")
        nbytes = 4 * int(count)
        moved += nbytes
        cycles += int(host_cycles) - -nbytes // run.numbers["bytes_per_cycle"]
        if not run.computes_values:
            continue
        memory = run.dram.array(address, np.int32, size, writable=what == STORE)
        if what == LOAD:
            held = memory.copy()
            continue
        if held is None:
            raise DeviceError("undefined_configuration", f"command {index}: nothing is loaded")
        if what == ADD:
            held += memory
        else:
            memory[:] = held
    return {"cycles": cycles, "bytes_moved": moved}
