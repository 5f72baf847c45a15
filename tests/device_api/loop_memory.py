"""Memories for tests of the loop commands, and the check that a stream fills them as expected."""

from __future__ import annotations

import struct

import numpy as np
from device_api.streams import BASE, Words, pack
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from reference.device import ReferenceDevice

from npu_target.device_api import run_stream
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.loops import expand_loops

SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
FAST = settings(max_examples=80, **SETTINGS)
THOROUGH = settings(max_examples=2500, **SETTINGS)
CONFIGS = {
    dim: GemminiConfig(
        name=f"loops-{dim}", dim=dim, spad_bank_rows=64 * dim, acc_bank_rows=16 * dim
    )
    for dim in (4, 8, 16)
}
# Halves of the scratchpad for A and B of loops in turn (0: the loop's own). Two loops that follow
# each other never load into one half: the hardware issues the loads of the second before the
# computes of the first, and may hang.
SPAD_IDS = st.sampled_from(
    [((0, 0),), ((1, 2), (2, 1)), ((2, 2), (1, 1)), ((1, 0), (2, 0)), ((0, 2), (0, 1))]
)
SCALES = st.sampled_from([1.0, 0.25, 0.01, 1e-3, -0.02])


class Memory:
    """DRAM from BASE on, filled with noise, tensors in it one after another."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.bytes = self.random.integers(0, 256, 64, dtype=np.uint8)

    def add(self, values: np.ndarray) -> int:
        """The address of a copy of `values`."""
        address = BASE + len(self.bytes)
        noise = self.random.integers(0, 256, 5, dtype=np.uint8)
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.bytes = np.concatenate([self.bytes, raw, noise])
        return address

    def int8(self, *shape: int) -> np.ndarray:
        return self.random.integers(-128, 128, shape, dtype=np.int8)

    def int32(self, *shape: int) -> np.ndarray:
        return self.random.integers(-(2**15), 2**15, shape, dtype=np.int32)

    def place(self, address: int, values: np.ndarray) -> np.ndarray:
        """All bytes, with `values` at `address`."""
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        expected = self.bytes.copy()
        expected[address - BASE : address - BASE + len(raw)] = raw
        return expected


def check(config: GemminiConfig, words: list[Words], memory: Memory, expected: np.ndarray) -> None:
    """The stream turns the memory into what is expected, and so does its expansion."""
    result = run_stream(config, pack(words), BASE, memory.bytes.tobytes())
    np.testing.assert_array_equal(np.frombuffer(result.memory, np.uint8), expected)
    assert result.stats.commands == len(words)
    if len(words) < 60:  # the NumPy device is slow
        check_expanded(config, words, memory, expected)


def padded(values: np.ndarray, extra: int) -> np.ndarray:
    """`values` with rows that go on for `extra` elements, which nobody reads or writes."""
    wide = np.full((values.shape[0], values.shape[1] + extra), 77, values.dtype)
    wide[:, : values.shape[1]] = values
    return wide


def check_expanded(config: GemminiConfig, words: list[Words], memory: Memory, expected: np.ndarray):
    """The expansion, executed one simple command after another by the NumPy device."""
    expanded = list(struct.iter_unpack("<QQQ", expand_loops(config, pack(words))))
    assert all(funct < 8 or funct == 14 for funct, _, _ in expanded)
    room = np.concatenate([memory.bytes, np.zeros(4096, np.uint8)])  # absent rows of B are read
    spad = np.full((config.spad_rows, config.dim), 99, np.int8)
    acc = np.full((config.acc_rows, config.dim), 9999, np.int32)
    start = (BASE, room.tobytes(), {"spad": spad.tobytes(), "acc": acc.tobytes()})
    whole, simple = (run_stream(config, pack(w), *start) for w in (words, expanded))
    ReferenceDevice(BASE, room, spad, acc, config.array_output_bits).run(expanded)
    np.testing.assert_array_equal(room[: len(expected)], expected)
    np.testing.assert_array_equal(np.frombuffer(whole.memory, np.uint8), room)
    # A loop as a whole leaves out the absent rows of B, which nothing computes with; its expansion
    # has them, as the hardware does.
    np.testing.assert_array_equal(np.frombuffer(simple.memory, np.uint8), room)
    np.testing.assert_array_equal(np.frombuffer(simple.memories["spad"], np.int8), spad.ravel())
    np.testing.assert_array_equal(np.frombuffer(simple.memories["acc"], np.int32), acc.ravel())
