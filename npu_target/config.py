"""NpuConfig: every hardware number of a device, in one frozen object.

Nothing else in the package states a size, a queue depth or a latency. The compiler, the
simulator (C++, the same field names), the target tags and the tuning logs all read it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .c_header import CHeader, CHeaderError
from .files import Pathish, check_name, write_atomically

# A local address has 32 bits: three flags, three bits of normalization command, a bit that
# tells garbage from a row, and the row.
_LOCAL_ADDRESS_ROW_BITS = 25
_MAX_FIELD = 2**31 - 1
# The cycle model keeps sets of queue entries, and of banks, as the bits of a word.
_MAX_QUEUE_ENTRIES = 64
_MAX_BANKS = 64
# What sizes the simulator's tables, so that a device fits into the host's memory. The reader of
# program files (device_api/sim/config.cc) has the same limits.
_MAX_MEMORY_BYTES = 2**28
_MAX_L2_LINES = 2**22
_MOST = {
    "dim": 256,
    "dma_request_bytes": 4096,
    "loads_in_flight": _MAX_QUEUE_ENTRIES,
    "dma_requests_in_flight": 1024,
    "mesh_tag_queue_entries": 1024,
    "mvin_scale_units": 1024,
    "store_write_queue_entries": 1024,
    "host_queue_commands": 1024,
    "l2_mshrs": _MAX_BANKS,
    "dram_banks": _MAX_BANKS,
    "host_registers": 64,  # and ways: looked through one by one
    "host_icache_ways": 64,
    "l2_ways": 256,
    "array_output_bits": 32,
}
_LEAST = {
    "dim": 2,
    # A product of two int8, and its sum with another.
    "array_output_bits": 17,
}
# Fields for which nothing (no latency, no cost) is a meaningful amount.
_MAY_BE_ZERO = frozenset(
    {
        "l2_hit_latency_cycles",
        "memory_latency_cycles",
        "memory_write_pause_cycles",
        "dram_banks",
        "dram_write_lines_ahead",
        "dram_row_idle_clocks",
        "dram_wake_clocks",
        "host_cycles_per_command",
        "host_cycles_per_instruction",
        "host_branch_miss_cycles",
        "host_icache_miss_cycles",
        "host_icache_l2_cycles",
    }
)
_POWERS_OF_TWO = (
    "dim",
    "spad_banks",
    "spad_bank_rows",
    "acc_banks",
    "acc_bank_rows",
    "dma_request_bytes",
    "bus_bytes",
    "l2_line_bytes",
    "host_icache_bytes",
    "host_icache_line_bytes",
    "host_icache_ways",
)


# Measured for a line of the host's code over a memory of one cycle.
_IDEAL_ICACHE_MISS_CYCLES = 27


class ConfigError(ValueError):
    """A device description that no device can have, or a file that is not one."""


@dataclass(frozen=True)
class NpuConfig:
    """One device. Sizes in the unit their name ends in; the defaults are `gemmini-16x16`.

    Element types are fixed: int8 in the scratchpad, int32 in the accumulator, float32 scales.
    Every field but `name` is an int or a bool, so that a program file can carry them all; for what
    a name may be see `files.check_name`.
    """

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
    clock_khz: int = 500_000
    l2_bytes: int = 524_288
    l2_ways: int = 8
    l2_line_bytes: int = 64
    l2_hit_latency_cycles: int = 11  # a request leaves the DMA to its first beat back
    l2_mshrs: int = 10  # requests under way in the cache
    memory_latency_cycles: int = 2  # what a miss takes longer than a hit, beside the DRAM's own
    memory_bytes_per_kilocycle: int = 8_000  # the bus to memory, each way
    memory_write_pause_cycles: int = 4  # between two lines that are written

    # The DRAM behind that bus, DDR3-1333; times in clocks of its own.
    dram_banks: int = 8  # 0: none, the memory answers at once
    dram_clock_khz: int = 666_667
    dram_write_lines_ahead: int = 1  # the measured system's memory books a written line there
    dram_row_bytes: int = 16_384  # of one bank
    dram_row_accesses: int = 4  # lines, before an open row has to close
    dram_row_idle_clocks: int = 8  # that it stays open without any, once it may close
    dram_row_open_clocks: int = 24  # tRAS: activated to closed, at least
    dram_activate_clocks: int = 10  # tRCD: activated to read or written
    dram_precharge_clocks: int = 10  # tRP: closed to activated
    dram_burst_clocks: int = 4  # a line on the data bus
    dram_read_latency_clocks: int = 10  # CL
    dram_write_latency_clocks: int = 9  # CL - 1
    dram_read_to_precharge_clocks: int = 7  # read to closed
    dram_write_recovery_clocks: int = 8  # tWR, of which its queue hides a part: data to closed
    dram_wake_clocks: int = 7  # tXP and more: powered down, as soon as all rows are closed
    dram_refresh_period_clocks: int = 5_200  # tREFI
    dram_refresh_clocks: int = 107  # tRFC

    # The host core that computes operands and issues the commands: Rocket.
    host_cycles_per_command: int = 1
    host_cycles_per_instruction: int = 1  # any other: an addition, a branch, part of a constant
    host_branch_miss_cycles: int = 3  # more for a branch that goes another way: a loop's last one
    host_registers: int = 26  # that hold operands: 31 less stack, return address and some room
    host_icache_bytes: int = 16_384
    host_icache_line_bytes: int = 64
    host_icache_ways: int = 4
    host_icache_miss_cycles: int = 49  # for a line that comes from memory: the first time
    host_icache_l2_cycles: int = 14  # for one that the L2 has: any other time
    host_queue_commands: int = 10  # commands under way between the host and the queues above

    def __post_init__(self) -> None:
        self._check_types()
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or field.name == "name":
                continue
            least = 0 if field.name in _MAY_BE_ZERO else _LEAST.get(field.name, 1)
            most = _MOST.get(field.name, _MAX_FIELD)
            if not least <= value <= most:
                raise self._error(field.name, value, f"between {least} and {most}")
        for name in _POWERS_OF_TWO:
            value = getattr(self, name)
            if value & (value - 1):
                raise self._error(name, value, "a power of two")
        self._check_relations()

    def _check_types(self) -> None:
        check_name("NpuConfig.name", self.name, ConfigError)
        for field in dataclasses.fields(self):
            if field.name == "name":
                continue
            wanted = bool if isinstance(field.default, bool) else int
            value = getattr(self, field.name)
            if type(value) is not wanted:
                raise self._error(field.name, value, f"of type {wanted.__name__}")

    def _check_relations(self) -> None:
        for name in ("spad_bank_rows", "acc_bank_rows"):
            rows = getattr(self, name)
            if rows % self.dim:
                raise self._error(name, rows, f"a multiple of dim ({self.dim})")
        for name in ("spad_rows", "acc_rows"):
            rows = getattr(self, name)
            if rows > 2**_LOCAL_ADDRESS_ROW_BITS:
                limit = 2**_LOCAL_ADDRESS_ROW_BITS
                raise self._error(name, rows, f"at most {limit}, what a local address can name")
        for name, row_bytes in (
            ("spad_rows", self.spad_row_bytes),
            ("acc_rows", self.acc_row_bytes),
        ):
            rows = getattr(self, name)
            if rows * row_bytes > _MAX_MEMORY_BYTES:
                limit = _MAX_MEMORY_BYTES // row_bytes
                raise self._error(name, rows, f"at most {limit}, what the simulator holds")
        entries = self.ld_queue_entries + self.ex_queue_entries + self.st_queue_entries
        if entries > _MAX_QUEUE_ENTRIES:
            raise self._error(
                "ld_queue_entries + ex_queue_entries + st_queue_entries",
                entries,
                f"at most {_MAX_QUEUE_ENTRIES}, what the cycle model holds",
            )
        for name in ("spad_banks", "acc_banks"):
            count = getattr(self, name)
            if count > _MAX_BANKS:
                raise self._error(name, count, f"at most {_MAX_BANKS}, what the cycle model holds")
        if self.dma_request_bytes < self.bus_bytes:
            raise self._error(
                "dma_request_bytes",
                self.dma_request_bytes,
                f"at least bus_bytes ({self.bus_bytes})",
            )
        if self.l2_bytes % (self.l2_ways * self.l2_line_bytes):
            raise self._error(
                "l2_bytes",
                self.l2_bytes,
                f"a multiple of l2_ways x l2_line_bytes ({self.l2_ways * self.l2_line_bytes})",
            )
        if self.host_icache_bytes < self.host_icache_ways * self.host_icache_line_bytes:
            raise self._error(
                "host_icache_bytes",
                self.host_icache_bytes,
                "at least host_icache_ways x host_icache_line_bytes "
                f"({self.host_icache_ways * self.host_icache_line_bytes})",
            )
        if self.l2_bytes // self.l2_line_bytes > _MAX_L2_LINES:
            limit = _MAX_L2_LINES * self.l2_line_bytes
            raise self._error("l2_bytes", self.l2_bytes, f"at most {limit}, in lines of this size")
        if self.dram_row_bytes % self.l2_line_bytes:
            raise self._error(
                "dram_row_bytes",
                self.dram_row_bytes,
                f"a multiple of l2_line_bytes ({self.l2_line_bytes})",
            )
        if not (self.has_weight_stationary or self.has_output_stationary):
            raise self._error("has_weight_stationary", False, "True, or has_output_stationary")

    def _error(self, field: str, value: object, needs: str) -> ConfigError:
        return ConfigError(f"NpuConfig {self.name!r}: {field} is {value!r}, must be {needs}")

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

    @cached_property
    def hash(self) -> str:
        """16 hex digits over everything but the name: equal for devices that behave equally."""
        fields = {key: int(value) for key, value in self.numbers().items()}
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        # Devices are keys of caches; the fields are many.
        return hash(self.hash)

    def numbers(self) -> dict[str, int]:
        """Every field but the name, in declaration order."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "name"
        }

    def replace(self, **changes: Any) -> NpuConfig:
        """A copy with some fields changed. Raises ConfigError for a field that does not exist."""
        _check_keys(changes, f"NpuConfig {self.name!r}: replace()")
        return dataclasses.replace(self, **changes)

    def with_ideal_memory(self) -> NpuConfig:
        """The same device over a memory that answers in one cycle and fills the memory bus.

        It has no DRAM. The latency left is the bus's own, longer than the default device's beside
        its DRAM; so is its pause between writes.

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
    def preset(cls, name: str) -> NpuConfig:
        """The known device of this name. Raises ConfigError for an unknown one."""
        if name not in PRESETS:
            raise ConfigError(
                f"no device preset is called {name!r}; there are: {', '.join(PRESETS)}"
            )
        return PRESETS[name]

    @classmethod
    def find(cls, name_or_file: str) -> NpuConfig:
        """The preset of this name, else what is in the file of this name (see `load`).

        Raises ConfigError when it is neither.
        """
        if name_or_file in PRESETS:
            return PRESETS[name_or_file]
        if not Path(name_or_file).exists():
            raise ConfigError(
                f"no device is called {name_or_file!r}, and there is no such file; "
                f"there are: {', '.join(PRESETS)}"
            )
        try:
            return cls.load(name_or_file)
        except OSError as error:
            raise ConfigError(f"{name_or_file}: cannot be read: {error.strerror}") from error

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], source: str = "NpuConfig") -> NpuConfig:
        """Build from exactly the fields of the class. `source` names the origin in errors."""
        _check_keys(fields, source)
        missing = [name for name in _field_names() if name not in fields]
        if missing:
            raise ConfigError(f"{source}: missing {', '.join(missing)}")
        return cls(**fields)

    def save(self, path: Pathish) -> None:
        """Write as JSON, one object with every field."""
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        write_atomically(path, text.encode())

    @classmethod
    def load(cls, path: Pathish) -> NpuConfig:
        """Read what `save` wrote. Raises ConfigError for a file that is not such, or OSError."""
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not a device description in JSON: {error}") from error
        if not isinstance(fields, dict):
            raise ConfigError(f"{path}: needs one JSON object, has a {type(fields).__name__}")
        return cls.from_dict(fields, source=str(path))

    @classmethod
    def from_gemmini_params_h(
        cls, path: Pathish, name: str | None = None, **unstated: Any
    ) -> NpuConfig:
        """Read the header that the Gemmini generator writes for the device it generates.

        The header gives DIM, the memories and some features. What it does not state (banks of
        the accumulator, queues, system) comes from `unstated`, else from the default device.
        Without a `name` the device gets that of a preset it equals, or one made of its hash.
        Raises ConfigError when the header lacks something or describes a device with other
        element types, OSError when it cannot be read.
        """
        try:
            header = CHeader.parse(Path(path).read_text(encoding="utf-8"))
            fields = _fields_of_header(header)
        except (CHeaderError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from error
        _check_keys(unstated, f"{path}")
        stated = sorted(fields.keys() & unstated.keys())
        if stated:
            raise ConfigError(f"{path}: the header itself states {', '.join(stated)}")
        acc_rows = fields.pop("acc_rows")
        fields.update(unstated)
        acc_banks = fields.setdefault("acc_banks", cls.acc_banks)
        if acc_banks < 1 or acc_rows % acc_banks:
            raise ConfigError(
                f"{path}: ACC_ROWS {acc_rows} is not a multiple of acc_banks {acc_banks}; "
                "pass the device's acc_banks"
            )
        config = cls(
            **{"name": name or "unnamed", "acc_bank_rows": acc_rows // acc_banks, **fields}
        )
        if name is not None:
            return config
        for preset in PRESETS.values():
            if preset.hash == config.hash:
                return preset
        return config.replace(name=f"gemmini-{config.dim}x{config.dim}-{config.hash[:8]}")


def _field_names() -> list[str]:
    return [field.name for field in dataclasses.fields(NpuConfig)]


def _check_keys(fields: Mapping[str, Any], source: str) -> None:
    unknown = sorted(set(fields) - set(_field_names()))
    if unknown:
        raise ConfigError(f"{source}: NpuConfig has no field {', '.join(map(repr, unknown))}")


def _fields_of_header(header: CHeader) -> dict[str, Any]:
    """The fields a gemmini_params.h states, and `acc_rows`."""
    for name, wanted in (("elem_t", "int8_t"), ("acc_t", "int32_t"), ("acc_scale_t", "float")):
        if header.typedef(name) != wanted:
            raise CHeaderError(
                f"{name} is {header.typedef(name)}, only devices with {wanted} are supported"
            )
    if header.defines("HAS_MVIN_SCALE") and header.typedef("scale_t") != "float":
        raise CHeaderError(
            f"scale_t is {header.typedef('scale_t')}, only devices with float are supported"
        )
    if header.defines("HAS_MVIN_ACC_SCALE"):
        raise CHeaderError("HAS_MVIN_ACC_SCALE: scaled int32 loads are not supported")
    if not header.defines("ACC_READ_SMALL_WIDTH"):
        raise CHeaderError("no ACC_READ_SMALL_WIDTH: a device that cannot store int8 results")
    return {
        "dim": header.integer("DIM"),
        "spad_banks": header.integer("BANK_NUM"),
        "spad_bank_rows": header.integer("BANK_ROWS"),
        "acc_rows": header.integer("ACC_ROWS"),
        "dma_request_bytes": header.integer("MAX_BYTES"),
        "has_mvin_scale": header.defines("HAS_MVIN_SCALE"),
        "has_first_layer_pixel_repeats": header.defines("HAS_FIRST_LAYER_OPTIMIZATIONS"),
        "has_acc_full_width_store": header.defines("ACC_READ_FULL_WIDTH"),
    }


# The memories hold the same bytes in each: 256 KiB of scratchpad, 64 KiB of accumulator.
PRESETS: dict[str, NpuConfig] = {
    config.name: config
    for config in (
        NpuConfig(),
        NpuConfig(name="gemmini-8x8", dim=8, spad_bank_rows=8192, acc_bank_rows=1024),
        # A bit more than the generator's default, which 32 products of -128 and -128 leave.
        NpuConfig(
            name="gemmini-32x32",
            dim=32,
            array_output_bits=21,
            spad_bank_rows=2048,
            acc_bank_rows=256,
        ),
    )
}
