"""What a program does how often: what the cost model sees, and a bound of its time.

The likely counts take fields that run as what they start from, the sure ones as 1: nothing that the
latter count can be missing from a run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ...device.cost import Work
from ...program import Command, Loop, Program
from ...program.counts import CommandCounter, likely_commands
from ...program.operand import Operand
from ...topi import Operator
from ...topi.blocking import ceil_div
from .config import GemminiConfig
from .isa import COMMANDS, COMPUTES, GARBAGE, LOADS, ConfigSt, Mvout, Preload

_LOADS = frozenset(cls.funct for cls in LOADS)
_COMPUTES = frozenset(cls.funct for cls in COMPUTES)
# Local addresses and what follows them in a word; the sizes are above.
_SIZES_FROM_BIT = 32
_ROWS_FROM_BIT = 16  # of these
_SIZE_MASK = (1 << _ROWS_FROM_BIT) - 1
_LOCAL_MASK = (1 << _SIZES_FROM_BIT) - 1
_ACCUMULATOR_BIT = 1 << 31
_FULL_WIDTH_BIT = 1 << 29
_GARBAGE = GARBAGE.encode()
# The first word of a load that writes zeros.
_NOTHING = Operand()
_SUM_BYTES = 4
_POOL_STRIDE = ConfigSt.specs()["pool_stride"]  # in rs1

COUNTS = (
    "commands",
    "operand_steps",
    "iterations",
    "configurations",
    "loads",
    "zero_loads",
    "accumulator_loads",
    "loaded_bytes",
    "loaded_rows",
    "load_beats",
    "stores",
    "stored_bytes",
    "store_beats",
    "computes",
    "computed_rows",
    "weight_changes",
    "overlapped_loads",
    "overlapped_load_beats",
    "overlapped_stores",
    "overlapped_store_beats",
    "bank_conflicts",
    "operand_conflicts",
)


@dataclass
class ProgramWork(Work):
    """The counts of a program by name, and cycles that each part of the device is busy at least.

    `load_beats` and `store_beats` are transfers of the bus; `overlapped_*` those in loops with
    array steps; `weight_changes` preloads of new weights; `bank_conflicts` loaded rows among
    steps that read the same bank, `operand_conflicts` array steps with both operands in one
    bank.
    """

    likely: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    host_cycles: int = 0
    load_cycles: int = 0
    store_cycles: int = 0
    array_cycles: int = 0
    memory_cycles: int = 0

    @classmethod
    def of(cls, program: Program, operator: Operator) -> ProgramWork:
        """The work of a program that computes `operator`."""
        return _Counter(program).result(_bytes_to_read(operator))

    @property
    def least_cycles(self) -> int:
        """Cycles that no run of the program is below: the part that is busy longest."""
        return max(
            self.host_cycles,
            self.load_cycles,
            self.store_cycles,
            self.array_cycles,
            self.memory_cycles,
            1,
        )

    def features(self) -> np.ndarray:
        """Logarithms of the counts, then what share of the bound each part is busy, and shares
        that tell how the parts overlap."""
        counts = np.array([self.likely[name] for name in COUNTS], dtype=float)
        parts = (
            self.host_cycles,
            self.load_cycles,
            self.store_cycles,
            self.array_cycles,
            self.memory_cycles,
        )
        likely = self.likely
        shares = [
            _share(likely["overlapped_load_beats"], likely["load_beats"]),
            _share(likely["overlapped_store_beats"], likely["store_beats"]),
            _share(likely["loaded_bytes"], likely["loads"]),
            _share(likely["stored_bytes"], likely["stores"]),
            _share(likely["computed_rows"], likely["computes"]),
            _share(likely["weight_changes"], likely["computes"]),
            _share(likely["bank_conflicts"], likely["loaded_rows"]),
            _share(likely["operand_conflicts"], likely["computes"]),
            _share(likely["load_beats"], self.array_cycles),
            _share(likely["commands"], self.array_cycles),
        ]
        return np.concatenate(
            [np.log2(1 + counts), [part / self.least_cycles for part in parts], shares]
        )


class _Counter(CommandCounter[Counter[int]]):
    """Commands in a loop with array steps are told how often these read each bank."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        assert isinstance(program.config, GemminiConfig)
        self.config = program.config
        self.n_rows = self.config.spad_bank_rows
        self.work = ProgramWork()
        self.sure = dict.fromkeys(COUNTS, 0)
        self.sure_rows: Counter[int] = Counter()  # computes by their rows
        self.can_pool = False
        self.weights_bank: int | None = None

    def result(self, bytes_to_read: int) -> ProgramWork:
        self.count()
        config, work, sure = self.config, self.work, self.sure
        work.likely["iterations"] = self.iterations
        work.host_cycles = sure["commands"] * max(1, config.host_cycles_per_command)
        work.load_cycles = sure["load_beats"]
        # A pooled store writes fewer rows than it reads.
        work.store_cycles = 0 if self.can_pool else sure["store_beats"]
        work.array_cycles = self.array_cycles()
        work.memory_cycles = bytes_to_read * 1000 // config.memory_bytes_per_kilocycle
        return work

    def array_cycles(self) -> int:
        """A run of the array takes a compute, the preload after it, or both. With new weights it
        is as long as these have rows; the longest computes may be those that hide behind it."""
        hidden = self.sure["weight_changes"]
        cycles = hidden * self.config.dim
        for rows in sorted(self.sure_rows, reverse=True):
            count = self.sure_rows[rows]
            cycles += max(0, count - hidden) * rows
            hidden = max(0, hidden - count)
        return cycles

    def local(self, register: Operand) -> int:
        """The local address."""
        return self.middle(register) & _LOCAL_MASK

    def flags(self, local: int) -> int:
        """The flags of a local address, whatever its row.

        A row below 0, in iterations that a condition leaves out, has borrowed from them.
        """
        return (local + self.config.spad_rows) & _LOCAL_MASK

    def sizes(self, register: Operand) -> tuple[int, int]:
        """Columns and rows: what the field they share has, with the mean of what is no sum."""
        rest = self.middle(register) >> _SIZES_FROM_BIT
        cols, rows = float(rest & _SIZE_MASK), float(rest >> _ROWS_FROM_BIT & _SIZE_MASK)
        for factor, value in register.general:
            mean = self.mean_extent(value)
            if mean is not None and factor % (1 << _SIZES_FROM_BIT) == 0:
                factor >>= _SIZES_FROM_BIT
                if factor % (1 << _ROWS_FROM_BIT) == 0:
                    rows += mean * (factor >> _ROWS_FROM_BIT)
                else:
                    cols += mean * factor
        return round(cols), round(rows)

    def command(self, command: Command, times: int, sure: int, reads: Counter[int] | None) -> None:
        likely, funct = self.work.likely, command.funct
        likely["commands"] += times
        self.sure["commands"] += sure
        likely["operand_steps"] += times * (len(command.rs1.steps) + len(command.rs2.steps))
        if funct in _LOADS:
            self.load(command, times, sure, reads)
        elif funct == Mvout.funct:
            self.store(command, times, sure, reads)
        elif funct in _COMPUTES:
            _, rows = self.sizes(command.rs1)
            likely["computes"] += times
            likely["computed_rows"] += times * rows
            self.sure_rows[rows if _has_fixed_sizes(command.rs1) else 1] += sure
            if self.weights_bank == self.bank(self.local(command.rs1)):
                likely["operand_conflicts"] += times
        elif funct == Preload.funct:
            local = self.local(command.rs1)
            if local != _GARBAGE:
                self.weights_bank = self.bank(local)
                likely["weight_changes"] += times
                self.sure["weight_changes"] += sure if _has_fixed_sizes(command.rs1) else 0
        elif COMMANDS.is_setting(funct, command.rs1.base):
            likely["configurations"] += times
            self.can_pool = self.can_pool or _pools(command)

    def load(self, command: Command, times: int, sure: int, reads: Counter[int] | None) -> None:
        likely = self.work.likely
        cols, rows = self.sizes(command.rs2)
        local = self.local(command.rs2)
        likely["loads"] += times
        likely["loaded_rows"] += times * rows
        if command.rs1 == _NOTHING:
            likely["zero_loads"] += times
            return
        into_sums = bool(self.flags(local) & _ACCUMULATOR_BIT)
        row_bytes = cols * _SUM_BYTES if into_sums else cols
        beats = rows * ceil_div(row_bytes, self.config.bus_bytes)
        likely["loaded_bytes"] += times * rows * row_bytes
        likely["load_beats"] += times * beats
        # Sums may be loaded from one byte an element.
        least_beats = rows * ceil_div(cols, self.config.bus_bytes)
        self.sure["load_beats"] += sure * (least_beats if _has_fixed_sizes(command.rs2) else 1)
        if into_sums:
            likely["accumulator_loads"] += times
        if reads is not None:
            likely["overlapped_loads"] += times
            likely["overlapped_load_beats"] += times * beats
            if not into_sums:
                meets = _share(reads[self.bank(local)], sum(reads.values()))
                likely["bank_conflicts"] += round(times * rows * meets)

    def store(self, command: Command, times: int, sure: int, reads: Counter[int] | None) -> None:
        likely = self.work.likely
        cols, rows = self.sizes(command.rs2)
        is_full_width = self.flags(self.local(command.rs2)) & _FULL_WIDTH_BIT
        row_bytes = cols * _SUM_BYTES if is_full_width else cols
        beats = rows * ceil_div(row_bytes, self.config.bus_bytes)
        likely["stores"] += times
        likely["stored_bytes"] += times * rows * row_bytes
        likely["store_beats"] += times * beats
        self.sure["store_beats"] += sure * (beats if _has_fixed_sizes(command.rs2) else 1)
        if reads is not None:
            likely["overlapped_stores"] += times
            likely["overlapped_store_beats"] += times * beats

    def around(self, loop: Loop) -> Counter[int]:
        """How often the array's steps of a loop read each scratchpad bank, by where their operands
        start."""
        reads: Counter[int] = Counter()
        for command, times in likely_commands(loop.body):
            local = self.local(command.rs1)
            if (command.funct == Preload.funct or command.funct in _COMPUTES) and local != _GARBAGE:
                reads[self.bank(local)] += times
        return reads

    def bank(self, local: int) -> int:
        return (local & ~_ACCUMULATOR_BIT) // self.n_rows


def _has_fixed_sizes(register: Operand) -> bool:
    """Whether what runs of a word is its local address only."""
    for _, increment in register.steps:
        if not -_LOCAL_MASK <= increment <= _LOCAL_MASK:
            return False
    return not register.general


def _pools(command: Command) -> bool:
    return COMMANDS.find(command.funct, command.rs1.base) is ConfigSt and bool(
        command.rs1.base & _POOL_STRIDE.mask
    )


def _bytes_to_read(operator: Operator) -> int:
    """Bytes that must come from memory, whatever the order."""
    return sum(
        prod(arg.shape) * np.dtype(arg.dtype).itemsize
        for arg in operator.args
        if arg.role == "input" and arg.name not in operator.partly_read
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
