"""What is measured on a Gemmini to make the simulator true to it (`npu_target.calibrate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....device.calibration import CalibrationSet
from ....program import Program
from ....topi import (
    Add,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool,
    Matmul,
    MaxPool2d,
    Operator,
)
from ..config import GemminiConfig
from . import array, host, memory

__all__ = ["CALIBRATION"]


class GemminiCalibrationSet(CalibrationSet):
    """Host, loads, stores, DRAM, array and queues by themselves; small layers of networks."""

    fields = (
        "host_cycles_per_command",
        "host_cycles_per_instruction",
        "host_branch_miss_cycles",
        "host_icache_miss_cycles",
        "host_icache_l2_cycles",
        "acc_scale_latency_cycles",
        "l2_hit_latency_cycles",
        "memory_latency_cycles",
        "memory_bytes_per_kilocycle",
        "memory_write_pause_cycles",
        "dram_clock_khz",
        "dram_write_lines_ahead",
        "dram_row_accesses",
        "dram_row_idle_clocks",
        "dram_row_open_clocks",
        "dram_activate_clocks",
        "dram_precharge_clocks",
        "dram_burst_clocks",
        "dram_read_latency_clocks",
        "dram_write_latency_clocks",
        "dram_read_to_precharge_clocks",
        "dram_write_recovery_clocks",
        "dram_write_to_read_clocks",
        "dram_wake_clocks",
        "dram_refresh_period_clocks",
        "dram_refresh_clocks",
    )
    sizes = (
        "ld_queue_entries",
        "ex_queue_entries",
        "st_queue_entries",
        "loads_in_flight",
        "dma_requests_in_flight",
        "mesh_tag_queue_entries",
        "mvin_scale_units",
        "store_write_queue_entries",
        "l2_mshrs",
        "host_queue_commands",
    )

    def programs(self, config: GemminiConfig) -> Mapping[str, Sequence[Program]]:
        groups = {
            "host": host.programs,
            "loads": memory.loads,
            "stores": memory.stores,
            "loads and stores": memory.both,
            "DRAM": memory.dram,
            "write-backs": memory.write_backs,
            "products": array.products,
            "results": array.results,
            "queues": array.queues,
        }
        return {name: tuple(made) for name, make in groups.items() if (made := [*make(config)])}

    def operators(self, config: GemminiConfig) -> Sequence[Operator]:
        dim, same = config.dim, (1, 1, 1, 1)
        layers: list[Operator] = [
            Matmul(batch=1, m=64, k=256, n=128),
            Matmul(batch=1, m=1, k=512, n=256),
            Conv2d(n=1, h=14, w=14, ci=64, co=64, kh=3, kw=3, pad=same, relu=True),
            Conv2d(n=1, h=28, w=28, ci=32, co=64, kh=1, kw=1, strides=(2, 2)),
            DepthwiseConv2d(n=1, h=14, w=14, c=64, kh=3, kw=3, dim=dim, pad=same),
            Add(rows=196, cols=128, dim=dim),
            GlobalAvgPool(n=1, h=7, w=7, c=256, dim=dim),
        ]
        if config.has_pooling:
            layers.append(MaxPool2d(n=1, h=28, w=28, c=32, size=3, stride=2, pad=same))
        return layers


CALIBRATION = GemminiCalibrationSet()
