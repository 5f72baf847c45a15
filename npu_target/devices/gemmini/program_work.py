"""What a program does how often: what the cost model sees, and a bound of its time.

The device library counts (`simulator/program_work.cc`), since a search makes thousands of programs.
The likely counts take fields that run as what they start from, the sure ones as 1: nothing that the
latter count can be missing from a run. Importing this module imports TVM.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
import tvm_ffi

from ...device.cost import Work
from ...program import Program
from ...topi import Operator
from .config import GemminiConfig

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
        config = program.config
        assert isinstance(config, GemminiConfig)
        found = tvm_ffi.get_global_func("npu.gemmini.program_work")(program.to_bytes())
        numbers = {str(name): int(number) for name, number in found.items()}
        return cls(
            likely={name: numbers[name] for name in COUNTS},
            host_cycles=numbers["sure_commands"] * max(1, config.host_cycles_per_command),
            load_cycles=numbers["sure_load_beats"],
            # A pooled store writes fewer rows than it reads.
            store_cycles=0 if numbers["pools"] else numbers["sure_store_beats"],
            array_cycles=numbers["array_cycles"],
            memory_cycles=_bytes_to_read(operator) * 1000 // config.memory_bytes_per_kilocycle,
        )

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


def _bytes_to_read(operator: Operator) -> int:
    """Bytes that must come from memory, whatever the order."""
    return sum(
        prod(arg.shape) * np.dtype(arg.dtype).itemsize
        for arg in operator.args
        if arg.role == "input" and arg.name not in operator.partly_read
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
