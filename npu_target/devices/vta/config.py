"""VtaConfig: every hardware number of a VTA, in one frozen object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from ...device import DeviceConfig, Limits, Memories, Memory
from ...device.links import Link


@dataclass(frozen=True)
class VtaConfig(DeviceConfig):
    """One device. `log_` is the logarithm to base 2; the defaults are `vta-1x16x16`.

    Element types are fixed: int8 inputs, weights and results, int32 sums. A row of a buffer is what
    one step of the device takes of it: `batch x block_in` inputs, `block_out x block_in` weights,
    `batch x block_out` sums or results, one micro-op. What the numbers may be is in `limits.def`,
    which the device library has compiled in.

    The sizes are those of VTA's public default; the queues, the bus, the tokens and the intervals
    those of its hardware sources in Chisel; the clock that of its builds for the Zynq-7020. What
    memory and host take is assumed, not measured.
    """

    kind: ClassVar[str] = "vta"
    limits: ClassVar[Limits] = Limits(Path(__file__).with_name("limits.def"))

    name: str = "vta-1x16x16"
    clock_khz: int = 100_000

    # The step and the buffers.
    log_batch: int = 0
    log_block_in: int = 4
    log_block_out: int = 4
    log_uop_buffer_bytes: int = 15
    log_inp_buffer_bytes: int = 15
    log_wgt_buffer_bytes: int = 18
    log_acc_buffer_bytes: int = 17

    # What VTA's own simulator has, and its hardware sources do not.
    has_alu_multiply: bool = False
    has_acc_int8_load: bool = False  # of bytes into the accumulator

    # Queues and units.
    command_queue_entries: int = 512  # of each engine
    token_limit: int = 255  # that a counter between two engines holds
    alu_immediate_interval_cycles: int = 1  # between two steps
    alu_register_interval_cycles: int = 2  # the same with two rows, which one port reads

    # The way to DRAM.
    log_bus_bytes: int = 3  # each way
    log_burst_beats: int = 8  # the longest
    bus_reads_in_flight: int = 16
    memory_latency_cycles: int = (
        32  # a request on the bus to its first beat, or the last to its answer
    )
    memory_bytes_per_kilocycle: int = 32_000  # both ways: DDR3-1066 of 32 bits, at three quarters

    # The host.
    host_cycles_per_command: int = 2  # a word of 64 bits each
    host_launch_cycles: int = 100  # registers written and read, over a slow bus

    def __hash__(self) -> int:
        # Devices are keys of caches; the fields are many.
        return hash(self.hash)

    @property
    def batch(self) -> int:
        return 1 << self.log_batch

    @property
    def block_in(self) -> int:
        return 1 << self.log_block_in

    @property
    def block_out(self) -> int:
        return 1 << self.log_block_out

    @property
    def dim(self) -> int:
        return self.block_out

    @property
    def uop_rows(self) -> int:
        return (1 << self.log_uop_buffer_bytes) // 4

    @property
    def inp_rows(self) -> int:
        return (1 << self.log_inp_buffer_bytes) // (self.batch * self.block_in)

    @property
    def wgt_rows(self) -> int:
        return (1 << self.log_wgt_buffer_bytes) // (self.block_out * self.block_in)

    @property
    def acc_rows(self) -> int:
        """Of the accumulator, and of the results beside it."""
        return (1 << self.log_acc_buffer_bytes) // (4 * self.batch * self.block_out)

    @cached_property
    def memories(self) -> Memories:
        """The buffers of inputs, weights and sums.

        Weights as definitions have them: `block_in` rows of a lane each are a row of the buffer.
        """

        def buffer(scope: str, title: str, rows: int, columns: int, dtype: str) -> Memory:
            return Memory(f"global.vta_{scope}", title, rows, rows, columns, dtype)

        wgt_rows = self.wgt_rows * self.block_in
        return Memories(
            buffer("inp", "input buffer", self.inp_rows, self.batch * self.block_in, "int8"),
            buffer("wgt", "weight buffer", wgt_rows, self.block_out, "int8"),
            buffer("acc", "accumulator", self.acc_rows, self.batch * self.block_out, "int32"),
        )

    @property
    def links(self) -> tuple[Link, ...]:
        counts = "bytes_loaded", "bytes_stored"
        bus = Link("bus", *counts, 1 << self.log_bus_bytes)
        memory = Link("memory", *counts, self.memory_bytes_per_kilocycle / 1000, is_shared=True)
        return bus, memory

    def with_ideal_memory(self) -> VtaConfig:
        """The same device over a memory that answers in one cycle and fills the bus, both ways."""
        return self.replace(
            name=f"{self.name}-ideal-memory",
            memory_latency_cycles=1,
            memory_bytes_per_kilocycle=2_000 << self.log_bus_bytes,
        )
