"""The commands of a vector unit, and its simulator: one command after the other, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from npu_target.device.command_set import CommandSet
from npu_target.device.commands import DeviceCommand, address, field, flag, uint
from npu_target.device_api.simulators import DeviceError, DeviceRun

INPUTS, WEIGHTS, SUMS = range(3)
MOST_ROWS = 255
_TAG = 0b111


@dataclass(frozen=True, kw_only=True)
class Load(DeviceCommand, mnemonic="load", funct=0, tag=0, tag_mask=_TAG):
    """Rows of a memory from DRAM, or zeros."""

    memory: int = uint(1, 3, 2)
    row: int = uint(1, 5, 12, is_row=True)
    rows: int = uint(1, 17, 8)
    cols: int = uint(1, 25, 8)
    stride_bytes: int = uint(1, 33, 20)
    is_zero: bool = flag(1, 53)
    dram_address: int = address(2, default=0)


@dataclass(frozen=True, kw_only=True)
class Store(DeviceCommand, mnemonic="store", funct=0, tag=1, tag_mask=_TAG):
    """Rows of sums to DRAM: as they are, or as elements, shifted to the right."""

    row: int = uint(1, 5, 12, is_row=True)
    rows: int = uint(1, 17, 8)
    cols: int = uint(1, 25, 8)
    stride_bytes: int = uint(1, 33, 20)
    shift: int = field("sint", 1, 53, 6)
    relu: bool = flag(1, 59)
    is_raw: bool = flag(1, 60)
    dram_address: int = address(2)


@dataclass(frozen=True, kw_only=True)
class Multiply(DeviceCommand, mnemonic="multiply", funct=0, tag=2, tag_mask=_TAG):
    """Rows of inputs, so far apart, times a matrix; written to rows of sums or added."""

    overwrites: bool = flag(1, 3)
    rows: int = uint(1, 4, 8)
    row_step: int = uint(1, 12, 12)
    inputs: int = uint(2, 0, 12, is_row=True)
    weights: int = uint(2, 12, 12, is_row=True)
    sums: int = uint(2, 24, 12, is_row=True)


@dataclass(frozen=True, kw_only=True)
class Maximum(DeviceCommand, mnemonic="maximum", funct=0, tag=3, tag_mask=_TAG):
    """Rows of sums become the greater of themselves and others."""

    rows: int = uint(1, 4, 8)
    sums: int = uint(2, 0, 12, is_row=True)
    others: int = uint(2, 12, 12, is_row=True)


@dataclass(frozen=True, kw_only=True)
class Fill(DeviceCommand, mnemonic="fill", funct=0, tag=4, tag_mask=_TAG):
    """Rows of sums become a number."""

    rows: int = uint(1, 4, 8)
    value: int = field("sint", 1, 12, 16)
    sums: int = uint(2, 0, 12, is_row=True)


COMMANDS = CommandSet((Load, Store, Multiply, Maximum, Fill), computing=(Multiply, Maximum, Fill))


class _Machine:
    """The memories, and which of their rows hold something."""

    def __init__(self, run: DeviceRun) -> None:
        self.dram, lanes = run.dram, run.numbers["lanes"]
        rows = [run.numbers[name] for name in ("input_rows", "weight_rows", "sum_rows")]
        dtypes = (np.int8, np.int8, np.int32)
        # What nothing has written yet is no 0, so that who reads it notices.
        self.memories = [np.full((n, lanes), 77, t) for n, t in zip(rows, dtypes, strict=True)]
        self.written = [np.zeros(n, bool) for n in rows]
        self.weights = INPUTS if run.numbers["has_one_memory"] else WEIGHTS
        self.takes_transposed = bool(run.numbers["takes_transposed"])

    def rows(
        self, memory: int, first: int, count: int, step: int = 1, *, reads: bool = True
    ) -> Any:
        """The numbers of rows that are there, and that hold something if they are read."""
        found = first + np.arange(count) * step
        if found.max(initial=0) >= len(self.memories[memory]):
            raise DeviceError("address_out_of_range", f"memory {memory} has no row {found.max()}")
        if reads and not self.written[memory][found].all():
            raise DeviceError("undefined_configuration", f"rows of memory {memory} hold nothing")
        self.written[memory][found] = True
        return found

    def lines(self, command: Any, dtype: Any, *, writable: bool) -> list[np.ndarray]:
        """Of each row the elements in DRAM."""
        return [
            self.dram.array(
                command.dram_address + i * command.stride_bytes, dtype, (command.cols,), writable
            )
            for i in range(command.rows)
        ]

    def load(self, command: Load) -> None:
        memory = self.memories[command.memory]
        rows = self.rows(command.memory, command.row, command.rows, reads=False)
        if command.is_zero:
            memory[rows, : command.cols] = 0
            return
        for row, line in zip(rows, self.lines(command, memory.dtype, writable=False), strict=True):
            memory[row, : command.cols] = line

    def store(self, command: Store) -> None:
        sums = self.memories[SUMS][self.rows(SUMS, command.row, command.rows)]
        sums = sums[:, : command.cols]
        if not command.is_raw:
            if command.shift > 0:
                sums = (sums + (1 << command.shift - 1)) >> command.shift
            elif command.shift < 0:
                sums = sums << -command.shift
            sums = sums.clip(0 if command.relu else -128, 127).astype(np.int8)
        for line, values in zip(self.lines(command, sums.dtype, writable=True), sums, strict=True):
            line[:] = values

    def multiply(self, command: Multiply) -> None:
        inputs, _, sums = self.memories
        lanes = inputs.shape[1]
        a = inputs[self.rows(INPUTS, command.inputs, command.rows, command.row_step)]
        b = self.memories[self.weights][self.rows(self.weights, command.weights, lanes)]
        if self.takes_transposed:
            b = b.T
        c = self.rows(SUMS, command.sums, command.rows, reads=not command.overwrites)
        product = a.astype(np.int32) @ b.astype(np.int32)
        sums[c] = product if command.overwrites else sums[c] + product

    def maximum(self, command: Maximum) -> None:
        sums = self.memories[SUMS]
        others = self.rows(SUMS, command.others, command.rows)
        rows = self.rows(SUMS, command.sums, command.rows)
        sums[rows] = np.maximum(sums[rows], sums[others])

    def fill(self, command: Fill) -> None:
        self.memories[SUMS][self.rows(SUMS, command.sums, command.rows, reads=False)] = (
            command.value
        )


_LAUNCH_CYCLES = 8


def simulate(run: DeviceRun) -> dict[str, int]:
    """A row a cycle, and some for each command."""
    machine = _Machine(run)
    cycles = 0
    for host_cycles, funct, words in zip(run.host_cycles, run.functs, run.words, strict=True):
        command: Any = COMMANDS.decode(int(funct), int(words[0]), int(words[1]))
        cycles += int(host_cycles) + command.rows + _LAUNCH_CYCLES
        if run.computes_values:
            getattr(machine, command.mnemonic)(command)
    return {"cycles": cycles}
