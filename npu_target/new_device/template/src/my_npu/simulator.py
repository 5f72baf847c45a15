"""The device in NumPy: what its commands do, how long they take, and what it refuses.

Three queues, each in its order: the unit's, and the copy engine's for loads and for stores. A
command starts when the one before it in its queue is done, and all that touched its rows before.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from npu_target.device.commands import IsaError
from npu_target.device_api.simulators import DeviceError, DeviceRun

from .commands import COMMANDS, Clear, Load, Multiply, Store
from .config import MyNpuConfig
from .numbers import RULE


def simulate(run: DeviceRun) -> dict[str, int]:
    """Cycles, products and bytes. Raises DeviceError for what the device does not do."""
    device = _Device(MyNpuConfig.from_numbers("simulated", run.numbers), run)
    commands = run.host_cycles.tolist(), run.functs.tolist(), run.words.tolist()
    for host_cycles, funct, words in zip(*commands, strict=True):
        device.host += host_cycles
        try:
            command: Any = COMMANDS.decode(funct, *words)
            command.validate(device.config)
        except IsaError as error:
            raise DeviceError("unsupported_command", str(error)) from error
        getattr(device, command.mnemonic)(command)
    cycles = max(device.host, *(ends[-1] for ends in device.ends.values()))
    return {"cycles": cycles, **device.counts}


class _Rows(NamedTuple):
    """Rows of a memory: their values, and when each is free again; -1 if never written."""

    values: np.ndarray
    free_at: np.ndarray

    def at(self, first: int, count: int, step: int = 1, *, is_read: bool = True) -> _Rows:
        """Some of the rows, which are there, and which something was written to if read."""
        last = first + (count - 1) * step
        if last >= len(self.values):
            raise DeviceError("address_out_of_range", f"row {last} of {len(self.values)}")
        rows = slice(first, last + 1, step)
        if is_read and self.free_at[rows].min() < 0:
            raise DeviceError("garbage_operand", f"nothing wrote some of rows {first} to {last}")
        return _Rows(self.values[rows], self.free_at[rows])


class _Device:
    """What it holds, and a method for each command, called as the command is."""

    def __init__(self, config: MyNpuConfig, run: DeviceRun) -> None:
        self.config, self.run, self.host = config, run, 0
        self.vectors, self.sums = (
            _Rows(np.zeros((memory.rows, memory.columns), memory.dtype), np.full(memory.rows, -1))
            for memory in config.memories.all
        )
        # When the last commands of each queue end, as many as it holds.
        n = config.queue_entries
        self.ends = {name: deque([0] * n, n) for name in ("load", "multiply", "store")}
        self.counts = {"macs": 0, "bytes_loaded": 0, "bytes_stored": 0}

    def load(self, command: Load) -> None:
        memory = self.sums if command.to_sums else self.vectors
        rows = memory.at(command.row, command.rows, is_read=False)
        nbytes = command.columns * rows.values.itemsize
        self.counts["bytes_loaded"] += command.rows * nbytes
        self._occupy("load", self.config.copy_cycles(command.rows, nbytes), rows)
        if self.run.computes_values:
            rows.values[:, : command.columns] = self._dram(command, rows.values.itemsize)
            rows.values[:, command.columns :] = 0

    def clear(self, command: Clear) -> None:
        memory = self.sums if command.to_sums else self.vectors
        rows = memory.at(command.row, command.rows, is_read=False)
        self._occupy("load", command.rows, rows)
        rows.values[:] = 0

    def store(self, command: Store) -> None:
        rows, scale = self.sums.at(command.row, command.rows), 2.0**-command.shift
        if RULE.refusal(scale):
            raise DeviceError("unsupported_command", str(RULE.refusal(scale)))
        self.counts["bytes_stored"] += command.rows * command.columns
        self._occupy("store", self.config.copy_cycles(command.rows, command.columns), rows)
        if self.run.computes_values:
            sums = rows.values[:, : command.columns]
            self._dram(command, 1, writable=True)[:] = RULE.evaluate(sums, scale, command.relu)

    def multiply(self, command: Multiply) -> None:
        vectors = self.vectors.at(command.vector, command.rows, command.step)
        matrix = self.vectors.at(command.matrix, self.config.lanes)
        sums = self.sums.at(command.to, command.rows, is_read=not command.overwrites)
        self.counts["macs"] += command.rows * self.config.lanes**2
        cycles = self.config.multiply_cycles(command.rows)
        self._occupy("multiply", cycles, vectors, matrix, sums)
        if self.run.computes_values:
            # Exact in float32, since each adds up a few products of int8; sums wrap around.
            products = vectors.values.astype(np.float32) @ matrix.values.astype(np.float32)
            before = 0 if command.overwrites else sums.values
            sums.values[:] = before + products.astype(np.int32)

    def _occupy(self, queue: str, cycles: int, *touched: _Rows) -> None:
        """A command waits for a place in its queue, and keeps its rows until its end."""
        ends = self.ends[queue]
        self.host = max(self.host, ends[0])
        free = [int(rows.free_at.max()) for rows in touched]
        ends.append(max(self.host, ends[-1], *free) + cycles)
        for rows in touched:
            rows.free_at[:] = ends[-1]

    def _dram(self, command: Load | Store, nbytes: int, writable: bool = False) -> np.ndarray:
        """Rows of elements of so many bytes in DRAM, as a view; some argument has them all."""
        size = (command.rows - 1) * command.stride + command.columns * nbytes
        held = self.run.dram.array(command.dram_address, np.uint8, (size,), writable)
        shape, strides = (command.rows, command.columns), (command.stride, nbytes)
        return np.ndarray(shape, f"i{nbytes}", held, strides=strides)
