"""What commands cost: cycles of the device's engines, computed from its config."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import NamedTuple

from ...topi.blocking import ceil_div
from .config import GemminiConfig


def load_cycles(
    rows: int, columns: int, element_bytes: int, apart_bytes: int, config: GemminiConfig
) -> float:
    """How long the load engine is busy with one command whose data comes from DRAM.

    ``columns`` are all of a row's, over all blocks; rows are so far apart in DRAM, 0 for a command
    that reads one row again and again.
    """
    if not apart_bytes:
        return max(rows * ceil_div(columns, config.dim), config.l2_hit_latency_cycles)
    row_cycles = load_row_cycles(columns, element_bytes, apart_bytes, config)
    from_memory = memory_cycles(columns * element_bytes, config)
    return max(rows * max(row_cycles, from_memory), config.l2_hit_latency_cycles)


def load_row_cycles(
    columns: int, element_bytes: int, apart_bytes: int, config: GemminiConfig
) -> float:
    """How long the load engine is busy with a row that the cache has, of any number of blocks; rows
    are so far apart in DRAM."""
    beats = row_beats(columns * element_bytes, apart_bytes, config)
    return max(beats.total, ceil_div(columns, config.dim))


class RowBeats(NamedTuple):
    """Transfers of the bus for a row: in ``total``, and the ``later`` ones, which find a line that
    an earlier request brought."""

    total: float
    later: float


@lru_cache(maxsize=4096)  # asked for each structure of schedules anew
def row_beats(row_bytes: int, apart_bytes: int, config: GemminiConfig) -> RowBeats:
    """On average over the places of a line where rows so far apart begin: what goes across a
    line's end takes two requests, and requests are powers of two."""
    whole_bytes = config.dma_request_bytes
    starts = range(0, whole_bytes, gcd(whole_bytes, row_bytes, apart_bytes))
    requests = [_requests(start, row_bytes, config) for start in starts]
    beats = sum(map(sum, requests)) / len(starts)
    number = sum(map(len, requests)) / len(starts)
    least = ceil_div(row_bytes, whole_bytes)
    return RowBeats(beats, beats * (1 - least / number) if number else 0)


def _requests(start: int, n_bytes: int, config: GemminiConfig) -> list[int]:
    """The beats of each request for bytes from there on: it is the one with most of the bytes, of
    several such ones the smallest."""
    found: list[int] = []
    while n_bytes > 0:
        useful, size = 0, 0
        for exponent in range((config.dma_request_bytes // config.bus_bytes).bit_length()):
            tried = config.bus_bytes << exponent
            if min(tried - start % tried, n_bytes) > useful:
                useful, size = min(tried - start % tried, n_bytes), tried
        found.append(size // config.bus_bytes)
        start, n_bytes = start + useful, n_bytes - useful
    return found


def memory_cycles(n_bytes: float, config: GemminiConfig) -> float:
    """How long the bus to memory takes for so many bytes one way."""
    return n_bytes * 1000 / config.memory_bytes_per_kilocycle


def load_latency_cycles(config: GemminiConfig) -> float:
    """From a request to its first bytes where the cache does not have them."""
    clocks = 0
    if config.dram_banks:
        clocks = config.dram_precharge_clocks + config.dram_activate_clocks
        clocks += config.dram_read_latency_clocks + config.dram_burst_clocks
    dram = clocks * config.clock_khz / config.dram_clock_khz
    return config.l2_hit_latency_cycles + config.memory_latency_cycles + dram


def array_latency_cycles(config: GemminiConfig) -> int:
    """From a step's first row into the array to its sums in the accumulator."""
    return 2 * config.dim


def store_latency_cycles(config: GemminiConfig) -> int:
    """From a row of sums to the cache's answer that it has the result."""
    return config.acc_scale_latency_cycles + config.l2_hit_latency_cycles


def command_host_cycles(config: GemminiConfig) -> int:
    """What the host takes about for a command in a loop: it advances both of the words, and has
    its share in the loop's end."""
    return config.host_cycles_per_command + 3 * config.host_cycles_per_instruction


def zero_cycles(rows: int, columns: int, config: GemminiConfig) -> float:
    """How long the load engine is busy with a command that writes zeros."""
    return rows * ceil_div(columns, config.dim)


def store_cycles(rows: int, columns: int, element_bytes: int, config: GemminiConfig) -> float:
    """How long the store engine is busy with one command."""
    return rows * store_row_cycles(columns, element_bytes, config)


def store_row_cycles(
    columns: int, element_bytes: int, config: GemminiConfig, *, beats: float | None = None
) -> float:
    """How long the store engine is busy with a row: one of several blocks is collected block by
    block, then written; what leaves the accumulator passes the scaling.  ``beats``: transfers of
    the bus, where it is known that rows do not begin at its width."""
    blocks = ceil_div(columns, config.dim)
    if beats is None:
        beats = ceil_div(columns * element_bytes, config.bus_bytes)
    scaling = blocks * config.acc_scale_latency_cycles / config.store_write_queue_entries
    return max(scaling, blocks + beats - 1)
