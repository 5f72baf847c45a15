"""Command streams for tests: encoders, and hypothesis strategies of correct streams.

Written from the command set, not with the device's own, so that a wrong bit there shows here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from reference.device import (
    COMPUTE_ACCUMULATED,
    COMPUTE_PRELOADED,
    CONFIG,
    GARBAGE,
    MVIN,
    MVIN2,
    MVIN3,
    MVOUT,
    PRELOAD,
)

from npu_target.devices.gemmini import GemminiConfig

FLUSH, COUNTER = 7, 126
ACC, ACCUMULATE, FULL_WIDTH = 1 << 31, 3 << 30, 5 << 29
BASE = 0x80010000
MEMORY_BYTES = 1 << 13
Words = tuple[int, int, int]
LEAST_ROWS = 4  # of a run of the array

# Small memories: collisions between commands are what streams are for.
SMALL = GemminiConfig(name="small", spad_bank_rows=32, acc_bank_rows=64)
# As narrow as sums can be in some: they wrap around.
CONFIGS = {
    dim: SMALL.replace(
        name=f"small-{dim}",
        dim=dim,
        array_output_bits=bits,
        spad_bank_rows=2 * dim,
        acc_bank_rows=4 * dim,
    )
    for dim, bits in ((4, 17), (8, 17), (16, 20), (32, 20))
}


def pack(commands: Iterable[Words]) -> bytes:
    return b"".join(struct.pack("<QQQ", *command) for command in commands)


def float_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def local(address: int, rows: int, cols: int) -> int:
    return rows << 48 | cols << 32 | address


def config_ex(
    is_ws: bool = True,
    relu: bool = False,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_stride: int = 1,
    c_stride: int = 1,
    shift: int = 0,
) -> Words:
    rs1 = a_stride << 16 | transpose_b << 9 | transpose_a << 8 | relu << 3 | is_ws << 2
    return CONFIG, rs1, c_stride << 48 | shift


def config_ld(
    stride_bytes: int,
    scale: float = 1.0,
    shrunk: bool = False,
    load_id: int = 0,
    block_stride: int = 16,
    repeats: int = 1,
) -> Words:
    rs1 = float_bits(scale) << 32 | block_stride << 16 | repeats << 8 | load_id << 3
    return CONFIG, rs1 | shrunk << 2 | 1, stride_bytes


def config_st(
    stride_bytes: int,
    scale: float = 1.0,
    relu: bool = False,
    pool: tuple[int, ...] | None = None,
) -> Words:
    """`pool`: stride, size, upper, left, out_dim, out_rows, out_cols, in_rows, in_cols."""
    rs1 = relu << 2 | 2
    for value, low in zip(pool or (), (4, 6, 8, 10, 24, 32, 40, 48, 56), strict=False):
        rs1 |= value << low
    return CONFIG, rs1, float_bits(scale) << 32 | stride_bytes


SCALES = st.one_of(
    st.sampled_from([1.0, 0.5, 0.25, 0.0, -1.0, 1e-6, 3e4]),
    st.floats(-2, 2, width=32, allow_nan=False),
)


@dataclass
class Draw:
    """Draws the parts of commands for one device."""

    draw: st.DrawFn
    config: GemminiConfig

    def integer(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def scale(self) -> float:
        return self.draw(SCALES)

    def mvin(self) -> list[Words]:
        dim, load_id = self.config.dim, self.integer(0, 2)
        is_acc = self.flag()
        has_zeros = self.integer(0, 5) == 0
        shrunk = self.flag() and not (has_zeros and is_acc)
        is_int32 = is_acc and not shrunk
        cols = self.integer(
            1, self.config.mvin_max_cols_acc if is_int32 else self.config.mvin_max_cols
        )
        rows = self.integer(1, dim)
        repeats = 1
        if not is_acc and cols <= dim // 2 and self.flag():
            repeats = self.integer(1, dim // cols)
        blocks = -(-cols // dim)
        memory_rows = self.config.acc_rows if is_acc else self.config.spad_rows
        block_stride = self.integer(rows, rows + 3)
        span = (blocks - 1) * block_stride + rows
        if span > memory_rows:
            rows = block_stride = 1
            span = blocks
        address = self.integer(0, memory_rows - span)
        address |= self.draw(st.sampled_from([ACC, ACCUMULATE])) if is_acc else 0
        dram, stride = self.dram(rows, cols * (4 if is_int32 else 1))
        if is_int32 and address & ACCUMULATE == ACCUMULATE:
            dram, stride = dram & ~3, stride & ~3
        scale = self.scale()
        if has_zeros:
            dram = 0
            scale = self.draw(st.sampled_from([scale, float("inf"), float("nan")]))
        config = config_ld(stride, scale, shrunk, load_id, block_stride, repeats)
        return [config, ((MVIN, MVIN2, MVIN3)[load_id], dram, local(address, rows, cols))]

    def dram(self, rows: int, row_bytes: int) -> tuple[int, int]:
        """An address and a row stride that keep `rows` rows inside of the memory."""
        most = (MEMORY_BYTES - row_bytes) // max(1, rows - 1)
        stride = self.integer(0, min(most, 2 * row_bytes))
        return BASE + self.integer(0, MEMORY_BYTES - row_bytes - (rows - 1) * stride), stride

    def mvout(self) -> list[Words]:
        dim = self.config.dim
        if self.integer(0, 3) == 0:
            return self.mvout_pooled()
        kind = self.draw(st.sampled_from(["spad", "acc", "full"]))
        rows = self.integer(1, dim)
        cols = self.integer(1, dim if kind == "full" else self.config.mvout_max_cols)
        span = (cols - 1) // dim * dim + rows
        memory_rows = self.config.spad_rows if kind == "spad" else self.config.acc_rows
        if span > memory_rows:
            cols, span = min(cols, dim), rows
        address = self.integer(0, memory_rows - span)
        address |= {"spad": 0, "acc": ACC, "full": FULL_WIDTH}[kind]
        dram, stride = self.dram(rows, cols * (4 if kind == "full" else 1))
        config = config_st(stride, self.scale(), self.flag())
        return [config, (MVOUT, dram, local(address, rows, cols))]

    def others(self) -> list[Words]:
        """What moves and computes nothing: counters, the address cache, parts of settings."""
        keep_scale = (CONFIG, 2, 0xFFFFFFFF << 32 | self.integer(0, 64))
        strides_alone = (CONFIG, self.integer(1, 2) << 16 | 1 << 7, self.integer(0, 2) << 48)
        return self.draw(
            st.sampled_from(
                [
                    [(FLUSH, self.integer(0, 1), 0)],
                    [(COUNTER, self.integer(0, 2**32), self.integer(0, 2**32))],
                    [config_st(16, self.scale()), keep_scale],
                    [config_ex(self.flag()), strides_alone],
                ]
            )
        )

    def mvout_pooled(self) -> list[Words]:
        cols = self.integer(1, self.config.dim)
        is_acc = self.flag()
        size, stride = self.integer(1, 3), self.integer(1, 3)
        upper, left = self.integer(0, size - 1), self.integer(0, size - 1)
        in_rows, in_cols = self.integer(1, 4), self.integer(1, 4)
        out_rows, out_cols = self.integer(1, 3), self.integer(1, 3)
        memory_rows = self.config.acc_rows if is_acc else self.config.spad_rows
        address = self.integer(0, memory_rows - in_rows * in_cols) | (ACC if is_acc else 0)
        out_dim = self.integer(out_cols, 5)
        pool = (stride, size, upper, left, out_dim, out_rows, out_cols, in_rows, in_cols)
        config = config_st(self.integer(0, 64), self.scale(), self.flag(), pool)
        return [config, (MVOUT, BASE + self.integer(0, 4096), local(address, 0, cols))]

    def operand(self, lines_at_stride: int = 1) -> int:
        """A tile of the scratchpad, for either orientation."""
        rows, cols = self.integer(0, self.config.dim), self.integer(0, self.config.dim)
        if rows == 0 or cols == 0:  # of nothing, wherever that is
            return local(self.integer(0, 2**25 - 1), rows, cols)
        span = (max(rows, cols) - 1) * lines_at_stride + 1
        return local(self.integer(0, self.config.spad_rows - span), rows, cols)

    def garbage(self) -> int:
        return local(GARBAGE, self.config.dim, self.config.dim)

    def result(self, c_stride: int, most_rows: int) -> int:
        rows, cols = self.integer(0, most_rows), self.integer(0, self.config.dim)
        kinds = [0, ACC, ACCUMULATE, ACCUMULATE]
        flags = self.draw(st.sampled_from(kinds if c_stride or rows < 2 else kinds[:2]))
        memory_rows = self.config.acc_rows if flags else self.config.spad_rows
        if rows == 0:
            return local(flags | self.integer(0, 2**25 - 1), rows, cols)
        span = (rows - 1) * c_stride + 1
        return local(flags | self.integer(0, memory_rows - span), rows, cols)

    def matmuls(self) -> list[Words]:
        """A configuration and some preload and compute pairs under it."""
        dim = self.config.dim
        is_ws = self.flag()
        transpose_a = self.flag()
        transpose_b = self.flag() and (transpose_a != is_ws)
        a_stride, c_stride = self.integer(1, 2), self.integer(0, 2) if is_ws else 1
        shift = self.integer(0, 12)
        relu = self.flag()
        words = [config_ex(is_ws, relu, transpose_a, transpose_b, a_stride, c_stride, shift)]
        # Else the array takes only as many rows as A and D have, and of B what that pushes in.
        takes_all_rows = not is_ws or transpose_a or transpose_b or dim <= LEAST_ROWS
        is_new = True
        for _ in range(self.integer(1, 4)):
            brings = is_new and (not takes_all_rows or self.integer(0, 4))
            preload = self.operand() if brings else self.garbage()
            a = self.operand(a_stride)
            other = self.operand() if self.flag() else self.garbage()
            fed = max(LEAST_ROWS, a >> 48, 0 if other == self.garbage() else other >> 48)
            most = dim if takes_all_rows else fed
            result = self.result(c_stride, most) if self.integer(0, 4) else self.garbage()
            words.append((PRELOAD, preload, result))
            funct = COMPUTE_PRELOADED if is_new else COMPUTE_ACCUMULATED
            words.append((funct, a, other))
            # An output-stationary result takes the sums out of the array.
            is_new = self.flag() or (not is_ws and result != self.garbage())
        return words


@st.composite
def streams(draw: st.DrawFn) -> tuple[GemminiConfig, list[Words]]:
    """A device and a correct stream for it."""
    parts = Draw(draw, CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))])
    words: list[Words] = []
    for _ in range(parts.integer(1, 8)):
        words += draw(
            st.sampled_from([*[parts.mvin, parts.mvout, parts.matmuls] * 2, parts.others])
        )()
    return parts.config, words
