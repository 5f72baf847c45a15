"""The numbers of a device, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from npu_target.device import DeviceConfig, Limits, Memories, Memory


@dataclass(frozen=True)
class MyNpuConfig(DeviceConfig):
    """One device. The defaults are `my_npu`; another one is another preset, or a file."""

    kind: ClassVar[str] = "my_npu"
    limits: ClassVar[Limits] = Limits(Path(__file__).with_name("limits.def"))

    name: str = "my_npu"
    lanes: int = 16  # elements of a vector, and of a row of either memory
    vector_rows: int = 4096  # of int8: vectors, and matrices of `lanes` rows
    sum_rows: int = 1024  # of int32
    most_rows: int = 64  # of one command
    bus_bytes: int = 16  # between DRAM and either memory, in a cycle
    memory_latency_cycles: int = 20  # of each copy
    queue_entries: int = 8  # commands that wait for the unit, for loads, for stores

    @property
    def dim(self) -> int:
        return self.lanes

    @cached_property
    def memories(self) -> Memories:
        """Vectors and matrices share one. Scopes are names in TensorIR, and no other device's."""
        n, m, lanes = self.vector_rows, self.sum_rows, self.lanes
        vectors = Memory("global.my_npu_vectors", "vector memory", n, n, lanes, "int8")
        sums = Memory("global.my_npu_sums", "sum memory", m, m, lanes, "int32")
        return Memories(inputs=vectors, weights=vectors, sums=sums)

    def multiply_cycles(self, rows: int) -> int:
        """The matrix comes into the unit, then the vectors, a row a cycle."""
        return self.lanes + rows

    def copy_cycles(self, rows: int, row_bytes: int) -> int:
        """The way to DRAM, then as many bytes a cycle as the bus has."""
        return self.memory_latency_cycles + rows * -(-row_bytes // self.bus_bytes)


PRESETS = (MyNpuConfig(), MyNpuConfig(name="my_npu-8", lanes=8))
