"""What operations cost: cycles of the device's engines, computed from its config."""

from __future__ import annotations

from ..config import NpuConfig


def ceil_div(value: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-value // divisor)


def load_cycles(
    rows: int, columns: int, element_bytes: int, config: NpuConfig, *, repeated: bool = False
) -> float:
    """How long the load engine is busy with one command whose data comes from DRAM.

    ``columns`` are all of a row's, over all blocks; ``repeated`` is for a command that reads one
    row again and again (a stride of 0).
    """
    blocks = ceil_div(columns, config.dim)
    if repeated:
        return max(rows * blocks, config.l2_hit_latency_cycles)
    row_bytes = columns * element_bytes
    request_bytes = row_bytes
    if row_bytes % config.bus_bytes:  # then rows begin anywhere, and requests are powers of two
        request_bytes = 1 << (row_bytes + config.bus_bytes - 2).bit_length()
    request_bytes = min(request_bytes, max(config.dma_request_bytes, row_bytes))
    beats = ceil_div(request_bytes, config.bus_bytes)
    from_memory = row_bytes * 1000 / config.memory_bytes_per_kilocycle
    return max(rows * max(beats, blocks, from_memory), config.l2_hit_latency_cycles)


def zero_cycles(rows: int, columns: int, config: NpuConfig) -> float:
    """How long the load engine is busy with a command that writes zeros."""
    return rows * ceil_div(columns, config.dim)


def store_cycles(rows: int, columns: int, element_bytes: int, config: NpuConfig) -> float:
    """How long the store engine is busy with one command: a row of several blocks is collected
    block by block, then written; what leaves the accumulator passes the scaling."""
    blocks = ceil_div(columns, config.dim)
    beats = ceil_div(columns * element_bytes, config.bus_bytes)
    scaling = blocks * config.acc_scale_latency_cycles / config.store_write_queue_entries
    return rows * max(scaling, blocks + beats - 1)
