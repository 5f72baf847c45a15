"""GemminiConfig: every hardware number of a Gemmini, in one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ...device import ConfigError, DeviceConfig, Limits, Memories, Memory
from ...device.links import Link
from ...files import Pathish

# Measured for a line of the host's code over a memory of one cycle.
_IDEAL_ICACHE_MISS_CYCLES = 27
# Of the product of -128 and -128, with its sign.
_PRODUCT_BITS = 16


def _set_once(fields: dict[str, int], field: str, value: int, size: str) -> None:
    if field in fields:
        raise ConfigError(f"{size} and {field} are two numbers for one size; give one of them")
    fields[field] = value


@dataclass(frozen=True)
class GemminiConfig(DeviceConfig):
    """One device. Sizes in the unit their name ends in; the defaults are `gemmini-16x16`.

    Element types are fixed: int8 in the scratchpad, int32 in the accumulator, float32 scales.
    What the numbers may be is in `limits.def`, which the device library has compiled in.
    """

    kind: ClassVar[str] = "gemmini"
    limits: ClassVar[Limits] = Limits(Path(__file__).with_name("limits.def"))
    sizes: ClassVar[tuple[str, ...]] = ("spad_kib", "acc_kib", "l2_kib")

    name: str = "gemmini-16x16"

    # The array and the memories beside it.
    dim: int = 16  # side of the array; columns of a row of either memory
    array_output_bits: int = 20  # of the sums inside of the array, which wrap around
    spad_banks: int = 4
    spad_bank_rows: int = 4096  # a row is dim x int8
    acc_banks: int = 2
    acc_bank_rows: int = 512  # a row is dim x int32

    # The way to DRAM.
    dma_request_bytes: int = 64
    bus_bytes: int = 16

    # Queues and units.
    ld_queue_entries: int = 8
    ex_queue_entries: int = 16
    st_queue_entries: int = 4
    loads_in_flight: int = 2
    dma_requests_in_flight: int = 16
    mesh_tag_queue_entries: int = 6
    mvin_scale_units: int = 4
    acc_scale_latency_cycles: int = 8
    store_write_queue_entries: int = 5

    # What the generator was asked to build in.
    has_output_stationary: bool = True
    has_weight_stationary: bool = True
    has_transpose: bool = True
    has_mvin_scale: bool = True
    has_pooling: bool = True
    has_first_layer_pixel_repeats: bool = True
    has_loop_commands: bool = True
    has_acc_full_width_store: bool = True

    # The system around it.
    l2_bytes: int = 524_288
    l2_ways: int = 8
    l2_line_bytes: int = 64
    l2_hit_latency_cycles: int = 11  # a request leaves the DMA to its first beat back
    l2_mshrs: int = 10  # requests under way in the cache
    memory_latency_cycles: int = 7  # what a miss takes longer than a hit, beside the DRAM's own
    memory_bytes_per_kilocycle: int = 8_000  # the bus to memory, each way
    memory_write_pause_cycles: int = 3  # between two lines that are written

    # The DRAM behind that bus, DDR3-1333; times in clocks of its own.
    dram_banks: int = 8  # 0: none, the memory answers at once
    dram_clock_khz: int = 666_667
    dram_write_lines_ahead: int = 1  # the measured system's memory books a written line there
    dram_row_bytes: int = 16_384  # of one bank
    dram_row_accesses: int = 5  # lines, before an open row has to close
    dram_row_idle_clocks: int = 0  # that it stays open without any, once it may close
    dram_row_open_clocks: int = 24  # tRAS: activated to closed, at least
    dram_activate_clocks: int = 10  # tRCD: activated to read or written
    dram_precharge_clocks: int = 10  # tRP: closed to activated
    dram_burst_clocks: int = 4  # a line on the data bus
    dram_read_latency_clocks: int = 10  # CL
    dram_write_latency_clocks: int = 9  # CL - 1
    dram_read_to_precharge_clocks: int = 5  # tRTP: read to closed
    dram_write_recovery_clocks: int = 10  # tWR: data to closed
    dram_write_to_read_clocks: int = 5  # tWTR: data written to the next read command
    dram_read_to_write_clocks: int = 1  # tRTRS: data read to data written
    dram_wake_clocks: int = 3  # tXP - 1: powered down, as soon as all rows are closed
    dram_refresh_period_clocks: int = 5_200  # tREFI
    dram_refresh_clocks: int = 107  # tRFC

    def __hash__(self) -> int:
        # Devices are keys of caches; the fields are many.
        return hash(self.hash)

    @cached_property
    def memories(self) -> Memories:
        """The scratchpad, which the array reads, and the accumulator, which it writes."""
        rows, bank_rows = self.spad_rows, self.spad_bank_rows
        scratchpad = Memory("global.scratchpad", "scratchpad", rows, bank_rows, self.dim, "int8")
        rows, bank_rows = self.acc_rows, self.acc_bank_rows
        sums = Memory("global.accumulator", "accumulator", rows, bank_rows, self.dim, "int32")
        return Memories(scratchpad, scratchpad, sums)

    @property
    def spad_rows(self) -> int:
        return self.spad_banks * self.spad_bank_rows

    @property
    def acc_rows(self) -> int:
        return self.acc_banks * self.acc_bank_rows

    @property
    def spad_row_bytes(self) -> int:
        return self.dim

    @property
    def acc_row_bytes(self) -> int:
        return 4 * self.dim

    @property
    def mvin_max_cols(self) -> int:
        """Columns one MVIN of int8 may take."""
        return self.dim * max(1, self.dma_request_bytes // self.spad_row_bytes)

    @property
    def mvin_max_cols_acc(self) -> int:
        """Columns one MVIN of int32 may take."""
        return self.dim * max(1, self.dma_request_bytes // self.acc_row_bytes)

    @property
    def mvout_max_cols(self) -> int:
        """Columns one MVOUT of int8 may take."""
        return self.mvin_max_cols

    @property
    def mvout_max_cols_acc(self) -> int:
        """Columns one full-width (int32) MVOUT may take."""
        return self.mvin_max_cols_acc

    @property
    def cache_bytes(self) -> int:
        return self.l2_bytes

    def _fields_of(self, changes: Mapping[str, int]) -> dict[str, int]:
        """With `dim` the rows of the memories change so that these hold the same, and the sums
        inside of the array get the bits that `dim` products of -128 and -128 need."""
        fields = {name: value for name, value in changes.items() if name not in self.sizes}
        if "l2_kib" in changes:
            _set_once(fields, "l2_bytes", changes["l2_kib"] * 1024, "l2_kib")
        dim = fields.get("dim", self.dim)
        if dim < 1:  # the limits say so
            return fields
        for memory, element_bytes, bank_bytes in (
            ("spad", 1, self.spad_bank_rows * self.spad_row_bytes),
            ("acc", 4, self.acc_bank_rows * self.acc_row_bytes),
        ):
            rows, banks = f"{memory}_bank_rows", f"{memory}_banks"
            size = f"{memory}_kib"
            if size in changes:
                n_banks = max(1, fields.get(banks, getattr(self, banks)))
                bank_rows = changes[size] * 1024 // (n_banks * element_bytes * dim)
                _set_once(fields, rows, bank_rows, size)
            elif dim != self.dim:
                fields.setdefault(rows, bank_bytes // (element_bytes * dim))
        if dim != self.dim:
            bits = max(self.array_output_bits, _PRODUCT_BITS + (dim - 1).bit_length())
            fields.setdefault("array_output_bits", bits)
        return fields

    @property
    def links(self) -> tuple[Link, ...]:
        beside = Link("bus to the L2", "bytes_loaded", "bytes_stored", self.bus_bytes)
        behind = ("memory behind the L2", "memory_bytes_read", "memory_bytes_written")
        return beside, Link(*behind, self.memory_bytes_per_kilocycle / 1000)

    def with_ideal_memory(self) -> GemminiConfig:
        """The same device over a memory that answers in one cycle and fills the memory bus.

        It has no DRAM. The latency left is the bus's own, longer than the default device's beside
        its DRAM; so is its pause between writes, which fits measured streams (the RTL has 3).

        The bus behind the L2 is half as wide as the one before it, as in the measured system.
        """
        return self.replace(
            name=f"{self.name}-ideal-memory",
            memory_latency_cycles=5,
            memory_write_pause_cycles=5,
            dram_banks=0,
            memory_bytes_per_kilocycle=1_000 * max(1, self.bus_bytes // 2),
            host_icache_miss_cycles=min(self.host_icache_miss_cycles, _IDEAL_ICACHE_MISS_CYCLES),
        )

    @classmethod
    def from_gemmini_params_h(
        cls, path: Pathish, name: str | None = None, **unstated: Any
    ) -> GemminiConfig:
        """Read the header that the Gemmini generator writes for the device it generates.

        The header gives DIM, the memories and some features. What it does not state (banks of
        the accumulator, queues, system) comes from `unstated`, else from the default device.
        Without a `name` the device gets that of a preset it equals, or one made of its hash.
        Raises ConfigError when the header cannot be read, lacks something or describes a device
        with other element types.
        """
        from .params_header import read

        return read(path, name, unstated)
