"""VTA in NumPy, by its public description: what the device library's simulator is held against."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

import numpy as np

from npu_target.devices.vta import VtaConfig, isa

LOAD, COMPUTE, STORE = range(3)


def engine_of(command: isa.VtaCommand) -> int:
    if isinstance(command, isa.Store):
        return STORE
    is_of_load = isinstance(command, isa.Load) and command.is_of_load_engine
    return LOAD if is_of_load else COMPUTE


class Deadlock(Exception):
    """Engines that wait for each other."""


class Reference:
    """The buffers, and DRAM from address `base` on."""

    def __init__(self, config: VtaConfig, base: int, dram: bytes) -> None:
        self.base = base
        self.dram = np.frombuffer(dram, "uint8").copy()
        batch, out = config.batch, config.block_out
        self.uop = np.zeros(config.uop_rows, "uint32")
        self.wgt = np.zeros((config.wgt_rows, out, config.block_in), "int8")
        self.inp = np.zeros((config.inp_rows, batch, config.block_in), "int8")
        self.acc = np.zeros((config.acc_rows, batch, out), "int32")
        self.out = np.zeros((config.acc_rows, batch, out), "int8")

    def run(self, commands: Sequence[isa.VtaCommand], turns: random.Random) -> None:
        """Run them, each engine's in order; `turns` says which goes on where several could."""
        queues = [deque(c for c in commands if engine_of(c) == engine) for engine in range(3)]
        tokens = dict.fromkeys(
            ((LOAD, COMPUTE), (COMPUTE, LOAD), (COMPUTE, STORE), (STORE, COMPUTE)), 0
        )
        while any(queues):
            ready = [e for e in range(3) if queues[e] and self._has_tokens(e, queues[e][0], tokens)]
            if not ready:
                raise Deadlock
            engine = turns.choice(ready)
            command = queues[engine].popleft()
            for other, flag in ((engine - 1, command.pop_prev), (engine + 1, command.pop_next)):
                if flag:
                    tokens[other, engine] -= 1
            self.execute(command)
            for other, flag in ((engine - 1, command.push_prev), (engine + 1, command.push_next)):
                if flag:
                    tokens[engine, other] += 1

    @staticmethod
    def _has_tokens(
        engine: int, command: isa.VtaCommand, tokens: dict[tuple[int, int], int]
    ) -> bool:
        wanted = ((engine - 1, command.pop_prev), (engine + 1, command.pop_next))
        return all(tokens[other, engine] > 0 for other, flag in wanted if flag)

    def execute(self, command: isa.VtaCommand) -> None:
        if isinstance(command, isa.Load) and command.x_size:
            self._load(command)
        elif isinstance(command, isa.Store) and command.x_size:
            self._store(command)
        elif isinstance(command, isa.Gemm):
            for dst, src, wgt in self._steps(command):
                if command.reset:
                    self.acc[dst] = 0
                else:
                    self.acc[dst] += self.inp[src].astype("int32") @ self.wgt[wgt].T.astype("int32")
                    self.out[dst] = self.acc[dst].astype("int8")
        elif isinstance(command, isa.Alu):
            for dst, src, _ in self._steps(command):
                self.acc[dst] = self._alu(command, self.acc[dst], self.acc[src])
                self.out[dst] = self.acc[dst].astype("int8")

    def _lines(self, command: isa.Transfer, row_bytes: int) -> list[slice]:
        """Where its lines lie in DRAM."""
        starts = [
            (command.dram_base + y * command.x_stride) * row_bytes - self.base
            for y in range(command.y_size)
        ]
        return [slice(start, start + command.x_size * row_bytes) for start in starts]

    def _load(self, command: isa.Load) -> None:
        memories = (self.uop, self.wgt, self.inp, self.acc, None, self.acc)
        to = memories[command.memory]
        assert to is not None
        in_dram = np.dtype("int8") if command.memory == isa.ACC_INT8 else to.dtype
        shape = to.shape[1:]
        row_bytes = int(np.prod(shape, dtype=int)) * in_dram.itemsize
        lines = [self.dram[line].view(in_dram) for line in self._lines(command, row_bytes)]
        block = np.stack(lines).reshape(command.y_size, command.x_size, *shape)
        pads = [
            (command.y_pad_before, command.y_pad_after),
            (command.x_pad_before, command.x_pad_after),
        ]
        padded = np.pad(block, pads + [(0, 0)] * len(shape)).reshape(-1, *shape)
        to[command.sram_base : command.sram_base + len(padded)] = padded

    def _store(self, command: isa.Store) -> None:
        row_bytes = self.out[0].size
        for y, line in enumerate(self._lines(command, row_bytes)):
            first = command.sram_base + y * command.x_size
            self.dram[line] = self.out[first : first + command.x_size].view("uint8").ravel()

    def _steps(self, command: isa.Steps) -> list[tuple[int, int, int]]:
        factors = np.array(
            [
                (command.dst_factor_out, command.dst_factor_in),
                (command.src_factor_out, command.src_factor_in),
                (getattr(command, "wgt_factor_out", 0), getattr(command, "wgt_factor_in", 0)),
            ]
        )
        rows = [
            factors @ (y, x) + (word & 0x7FF, word >> 11 & 0x7FF, word >> 22)
            for y in range(command.iter_out)
            for x in range(command.iter_in)
            for word in self.uop[command.uop_begin : command.uop_end].astype("int64")
        ]
        return [(int(dst), int(src), int(wgt)) for dst, src, wgt in rows]

    @staticmethod
    def _alu(command: isa.Alu, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if command.use_immediate:
            right = np.full_like(left, command.immediate)
        if command.op == isa.MIN:
            return np.minimum(left, right)
        if command.op == isa.MAX:
            return np.maximum(left, right)
        wide, other = left.astype("int64"), right.astype("int64")
        if command.op == isa.ADD:
            return (wide + other).astype("int32")
        if command.op == isa.MUL:
            return (wide * other).astype("int32")
        if command.immediate < 0:
            return (wide << -command.immediate).astype("int32")
        return left >> right
