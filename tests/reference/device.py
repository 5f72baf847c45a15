"""The device in plain NumPy, written from its command set: slow, and nobody's implementation.

It takes correct streams only. What is refused is the simulator's business, and is tested there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

GARBAGE = 0xFFFFFFFF
CONFIG, MVIN2, MVIN, MVOUT, COMPUTE_PRELOADED, COMPUTE_ACCUMULATED, PRELOAD = range(7)
MVIN3 = 14


def bits(word: int, high: int, low: int) -> int:
    return (word >> low) & ((1 << (high - low + 1)) - 1)


def as_float32(word: int) -> np.float32:
    return np.array([word], dtype=np.uint32).view(np.float32)[0]


def requantize(values: np.ndarray, scale: np.float32) -> np.ndarray:
    """int8 of float32(values) * scale, half to even, saturated."""
    with np.errstate(over="ignore"):
        scaled = values.astype(np.float32) * np.float32(scale)
    return np.clip(np.rint(scaled), -128, 127).astype(np.int8)


def shift_right(values: np.ndarray, shift: int) -> np.ndarray:
    """values / 2**shift, half to even. Exact: doubles hold every int32."""
    return np.rint(values.astype(np.float64) / 2.0**shift).astype(np.int64)


def wrap_int32(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.int64).astype(np.uint32).view(np.int32)


class ReferenceDevice:
    """Executes commands (funct, rs1, rs2) over one region of DRAM that starts at `base`.

    `memory` is uint8, `spad` int8 (rows, dim) and `acc` int32 (rows, dim); all are changed in
    place. Sums inside of the array have `array_output_bits`.
    """

    def __init__(
        self,
        base: int,
        memory: np.ndarray,
        spad: np.ndarray,
        acc: np.ndarray,
        array_output_bits: int = 20,
    ) -> None:
        self.array_output_bits = array_output_bits
        self.base = base
        self.memory = memory
        self.spad = spad
        self.acc = acc
        self.dim = spad.shape[1]
        self.loads: dict[int, int] = {}
        self.load_strides: dict[int, int] = {}
        self.ex1 = self.ex2 = self.st1 = self.st2 = 0
        self.store_scale = np.float32(0)
        self.stationary = np.zeros((self.dim, self.dim), np.int64)
        self.preloaded = self.stationary
        self.result = 0

    def run(self, commands: Iterable[tuple[int, int, int]]) -> None:
        for funct, rs1, rs2 in commands:
            if funct == CONFIG:
                self.configure(rs1, rs2)
            elif funct in (MVIN, MVIN2, MVIN3):
                self.mvin((MVIN, MVIN2, MVIN3).index(funct), rs1, rs2)
            elif funct == MVOUT:
                self.mvout(rs1, rs2)
            elif funct == PRELOAD:
                self.preload(rs1, rs2)
            elif funct in (COMPUTE_PRELOADED, COMPUTE_ACCUMULATED):
                self.compute(funct == COMPUTE_PRELOADED, rs1, rs2)

    def configure(self, rs1: int, rs2: int) -> None:
        kind = bits(rs1, 1, 0)
        if kind == 0:
            if bits(rs1, 7, 7):  # strides only
                stride_bits = 0xFFFF0000
                rs1 = (self.ex1 & ~stride_bits) | (rs1 & stride_bits)
                rs2 = (self.ex2 & ~(0xFFFF << 48)) | (rs2 & (0xFFFF << 48))
            self.ex1, self.ex2 = rs1, rs2
        elif kind == 1:
            self.loads[bits(rs1, 4, 3)] = rs1
            self.load_strides[bits(rs1, 4, 3)] = rs2
        elif kind == 2:
            self.st1, self.st2 = rs1, rs2
            if bits(rs2, 63, 32) != 0xFFFFFFFF:
                self.store_scale = as_float32(bits(rs2, 63, 32))

    @property
    def is_weight_stationary(self) -> bool:
        return bool(bits(self.ex1, 2, 2))

    def mvin(self, load_id: int, address: int, local: int) -> None:
        config = self.loads[load_id]
        row0, cols, rows = bits(local, 25, 0), bits(local, 47, 32), bits(local, 63, 48)
        is_acc, accumulates = bits(local, 31, 31), bits(local, 30, 30)
        is_int32 = is_acc and not bits(config, 2, 2)
        scale = as_float32(bits(config, 63, 32))
        block_stride = bits(config, 31, 16)
        repeats = max(1, bits(config, 15, 8))
        for r in range(rows):
            if address == 0:
                values = np.zeros(cols, np.int64)
            else:
                start = address - self.base + r * self.load_strides[load_id]
                raw = self.memory[start : start + cols * (4 if is_int32 else 1)]
                if is_int32:
                    values = raw.copy().view(np.int32).astype(np.int64)
                else:
                    values = requantize(raw.view(np.int8), scale).astype(np.int64)
            for c in range(cols):
                row = row0 + r + c // self.dim * block_stride
                if is_acc:
                    before = int(self.acc[row, c % self.dim]) if accumulates else 0
                    self.acc[row, c % self.dim] = wrap_int32(before + values[c])
                    continue
                half = len(self.spad) // 2
                for p in range(repeats):
                    # Repeats stay in the half of the scratchpad their row is in.
                    if row - p >= (0 if row < half else half):
                        self.spad[row - p, c % self.dim + p * cols] = values[c]

    def preload(self, local: int, result: int) -> None:
        is_transposed = self.is_weight_stationary and bool(bits(self.ex1, 9, 9))
        self.preloaded = self.read(local, 1, is_transposed)
        self.result = result

    def read(self, local: int, stride: int, is_transposed: bool) -> np.ndarray:
        """The operand, dim x dim, zero outside of its rows and columns and where garbage."""
        tile = np.zeros((self.dim, self.dim), np.int64)
        if bits(local, 31, 0) == GARBAGE:
            return tile
        row0, cols, rows = bits(local, 25, 0), bits(local, 47, 32), bits(local, 63, 48)
        for i in range(rows):
            for j in range(cols):
                line, place = (j, i) if is_transposed else (i, j)
                tile[i, j] = self.spad[row0 + line * stride, place]
        return tile

    def compute(self, is_preloaded: bool, first: int, second: int) -> None:
        if is_preloaded:
            self.stationary = self.preloaded
        a = self.read(first, bits(self.ex1, 31, 16), bool(bits(self.ex1, 8, 8)))
        shift = 0
        if self.is_weight_stationary:
            result = self.wrap(a @ self.stationary + self.read(second, 1, False))
        else:
            b = self.read(second, 1, bool(bits(self.ex1, 9, 9)))
            self.stationary = self.wrap(self.stationary + a @ b)
            result = self.stationary
            shift = bits(self.ex2, 31, 0)
        self.write(shift_right(result, shift))

    def wrap(self, sums: np.ndarray) -> np.ndarray:
        """What the elements of the array keep of them: PE.scala, out_d of its MacUnit."""
        half = 2 ** (self.array_output_bits - 1)
        return (sums + half) % (2 * half) - half

    def write(self, values: np.ndarray) -> None:
        if bits(self.result, 31, 0) == GARBAGE:
            return
        row0, cols, rows = (bits(self.result, *field) for field in ((25, 0), (47, 32), (63, 48)))
        for i in range(rows):
            row = row0 + i * bits(self.ex2, 63, 48)
            if not bits(self.result, 31, 31):
                clipped = np.clip(values[i, :cols], -128, 127)
                has_relu = bits(self.ex1, 4, 3) == 1
                self.spad[row, :cols] = np.maximum(clipped, 0) if has_relu else clipped
            elif bits(self.result, 30, 30):
                self.acc[row, :cols] = wrap_int32(self.acc[row, :cols] + values[i, :cols])
            else:
                self.acc[row, :cols] = wrap_int32(values[i, :cols])

    def row_as_int8(self, local: int, row: int) -> np.ndarray:
        if not bits(local, 31, 31):
            return self.spad[row].copy()
        has_relu = bits(self.st1, 3, 2) == 1  # which comes before the scale
        sums = np.maximum(self.acc[row], 0) if has_relu else self.acc[row]
        return requantize(sums, self.store_scale)

    def mvout(self, address: int, local: int) -> None:
        row0, cols, rows = bits(local, 25, 0), bits(local, 47, 32), bits(local, 63, 48)
        start = address - self.base
        stride = bits(self.st2, 31, 0)
        if bits(self.st1, 5, 4):
            self.mvout_pooled(start, stride, local, row0, cols)
            return
        for i in range(rows):
            at = start + i * stride
            if bits(local, 31, 31) and bits(local, 29, 29):
                raw = self.acc[row0 + i, :cols].copy().view(np.uint8)
                self.memory[at : at + 4 * cols] = raw
                continue
            for c in range(cols):
                row = self.row_as_int8(local, row0 + i + c // self.dim * self.dim)
                self.memory[at + c] = row.view(np.uint8)[c % self.dim]

    def mvout_pooled(self, start: int, stride: int, local: int, row0: int, cols: int) -> None:
        st = self.st1
        pool_stride, size = bits(st, 5, 4), bits(st, 7, 6)
        upper, left, out_dim = bits(st, 9, 8), bits(st, 11, 10), bits(st, 31, 24)
        out_rows, out_cols = bits(st, 39, 32), bits(st, 47, 40)
        in_rows, in_cols = bits(st, 55, 48), bits(st, 63, 56)
        for y in range(out_rows):
            for x in range(out_cols):
                window = []
                for wy in range(size):
                    for wx in range(size):
                        iy, ix = y * pool_stride + wy - upper, x * pool_stride + wx - left
                        if 0 <= iy < in_rows and 0 <= ix < in_cols:
                            window.append(self.row_as_int8(local, row0 + iy * in_cols + ix)[:cols])
                        else:
                            window.append(np.zeros(cols, np.int8))
                at = start + (y * out_dim + x) * stride
                self.memory[at : at + cols] = np.max(window, axis=0).view(np.uint8)
