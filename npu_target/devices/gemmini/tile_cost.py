"""About how many cycles tiles of a multiply-accumulate take, computed from the device's config.

The parts of the device work side by side: in the steady state a tile takes as long as the one that
is busy longest, or as long as its way through two versions of its memory.  To that comes what
nothing hides: the loads of the first tile, the stores of the last one, an operand that stays.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ...schedule_rules.tile_counts import TileCounts
from ...topi.mac_operator import MacOperator
from ...topi.mac_shape import MacShape, Sizes
from ...topi.mac_structure import KERNEL_LOOPS, MacStructure
from .config import GemminiConfig
from .engine_cycles import (
    array_latency_cycles,
    command_host_cycles,
    load_latency_cycles,
    memory_cycles,
    store_latency_cycles,
)
from .tile_work import Copies, Cycles, TileWork, tile_work


class _Operand(NamedTuple):
    """Copies of an operand and how they reach DRAM: what share of them finds bytes that are not
    in the cache, and how long these keep the bus to memory."""

    copies: Copies
    misses: Cycles
    memory_cycles: Cycles

    @property
    def cold_cycles(self) -> Cycles:
        """Of copies that find nothing in the cache but what they bring themselves."""
        return np.maximum(self.copies.cycles, self.memory_cycles + self.copies.later_beats)


def tile_cycles(
    operator: MacOperator,
    shape: MacShape,
    structure: MacStructure,
    tile: Sizes,
    config: GemminiConfig,
) -> Cycles:
    """Cycles of the whole operator with tiles of these sizes (NumPy arrays)."""
    work = tile_work(operator, shape, structure, tile, config)
    counts = TileCounts.of(shape, structure, tile)
    streamed, kept = _operands(operator, structure, work, counts, config)
    steady = counts.parts * _part_cycles(structure, work, streamed, counts, config)
    if structure.pipelined and not structure.two_sums:
        waits = _not_hidden(work, _store_cycles(work.sums, config), structure, tile)
        waits = counts.tiles * (waits + store_latency_cycles(config))
        steady = steady + np.where(counts.tiles > 1, waits, 0)
    return steady + _ends(structure, tile, work, streamed, kept, counts, config)


def _operands(
    operator: MacOperator,
    structure: MacStructure,
    work: TileWork,
    counts: TileCounts,
    config: GemminiConfig,
) -> tuple[list[_Operand], _Operand | None]:
    """The operands that every tile loads anew, and the one that stays."""
    stays = None
    if structure.kept:
        stays = work.weights if structure.tiles == "weights_kept" else work.inputs
    elements = sum(prod(arg.shape) for arg in operator.args[:-1])
    is_cached = elements + work.sums.total_bytes <= config.l2_bytes

    def operand(copies: Copies, times: Cycles) -> _Operand:
        loaded = np.maximum(1, times * copies.n_bytes)
        # A line of the cache comes whole: its other bytes are hits, later.
        line = np.minimum(config.l2_line_bytes, copies.line_bytes)
        whole = np.maximum(1, line / copies.run_bytes)
        misses = np.minimum(1, copies.total_bytes / loaded) if is_cached else 1
        return _Operand(copies, misses / whole, memory_cycles(copies.n_bytes * whole, config))

    streamed = [operand(c, counts.parts) for c in (work.inputs, work.weights) if c is not stays]
    return streamed, None if stays is None else operand(stays, counts.kept)


def _part_cycles(
    structure: MacStructure,
    work: TileWork,
    streamed: list[_Operand],
    counts: TileCounts,
    config: GemminiConfig,
) -> Cycles:
    """A part of a tile's reduction in the steady state, on average."""
    share = counts.tiles / counts.parts  # of a tile's sums
    commands = 2 * work.steps + sum(operand.copies.commands for operand in streamed)
    commands = commands + share * (work.bias.commands + work.sums.commands)
    fetches = share * _fetch_cycles(work.sums, config)
    stores = share * _store_cycles(work.sums, config)
    written = share * memory_cycles(work.sums.n_bytes, config)
    busy = np.maximum.reduce(
        np.broadcast_arrays(
            work.array_cycles, commands * command_host_cycles(config), stores, written
        )
    )
    latency = load_latency_cycles(config) + array_latency_cycles(config)
    total = 0
    for probability, from_memory, beats in _misses(streamed):
        loads = sum(operand.copies.cycles for operand in streamed) + share * work.bias.cycles
        # The cache serves one after the other: what it has, and what comes from memory.
        cache = from_memory + fetches + beats + share * (work.sums.beats + work.bias.beats)
        loads = np.maximum(loads, cache)
        if not structure.pipelined:
            cycles = np.maximum(busy, work.array_cycles + loads + stores + latency)
        else:  # with two versions, the tile after the next waits for this one
            cycles = np.maximum(busy, loads)
            cycles = np.maximum(cycles, (work.array_cycles + loads + latency) / 2)
            if structure.two_sums:
                waits = array_latency_cycles(config) + store_latency_cycles(config)
                cycles = np.maximum(cycles, (work.array_cycles + stores + waits) / 2)
        total = total + probability * cycles
    return total


def _fetch_cycles(sums: Copies, config: GemminiConfig) -> Cycles:
    """How long a tile's stores keep the bus to memory with reading: of lines of the cache that
    they write in part, the rest comes from there."""
    line_bytes = config.l2_line_bytes
    in_part = (sums.run_bytes % line_bytes > 0) | (sums.line_bytes % line_bytes > 0)
    return np.where(in_part, memory_cycles(sums.n_bytes, config), 0)


def _store_cycles(sums: Copies, config: GemminiConfig) -> Cycles:
    return np.maximum(sums.cycles, _fetch_cycles(sums, config))


def _misses(operands: list[_Operand]) -> list[tuple[Cycles, Cycles, Cycles]]:
    """How likely which operands come from memory, how long that takes, and transfers of the bus
    for all else."""
    cases: list[tuple[Cycles, Cycles, Cycles]] = [(1, 0, 0)]
    for operand in operands:
        copies = operand.copies
        cases = [
            case
            for probability, cycles, beats in cases
            for case in (
                (
                    probability * operand.misses,
                    cycles + operand.memory_cycles,
                    beats + copies.later_beats,
                ),
                (probability * (1 - operand.misses), cycles, beats + copies.beats),
            )
        ]
    return cases


def _ends(
    structure: MacStructure,
    tile: Sizes,
    work: TileWork,
    streamed: list[_Operand],
    kept: _Operand | None,
    counts: TileCounts,
    config: GemminiConfig,
) -> Cycles:
    """What no tile hides: loads of an operand that stays, the first tile's, the last one's
    stores."""
    latency = load_latency_cycles(config)
    cycles: Cycles = 0
    if kept is not None:
        hits = kept.copies.cycles
        average = kept.misses * kept.cold_cycles + (1 - kept.misses) * hits
        filled = latency + (array_latency_cycles(config) if structure.pipelined else 0)
        first = 1 if structure.pipelined else 0  # else it is hidden as little as the others
        cycles = (counts.kept - first) * (average + filled)
    if not structure.pipelined:
        return cycles
    operands = [*streamed, *([] if kept is None else [kept])]
    loads = sum(operand.cold_cycles for operand in operands)
    inputs = sum(operand.cold_cycles for operand in operands if operand.copies is work.inputs)
    array, blocks = work.array_cycles, work.weight_blocks
    # The first block of weights meets all of the inputs.  From then on the array follows the
    # weights: these come as the reduction goes, so that sums finished one after the other wait for
    # all of them with the first.
    other_sums: Cycles = 0  # cycles of the array for what is finished after the first
    if structure.step_order == "blocks_first":
        other_sums = array * (1 - 1 / tile["blocks"])
    follows = np.maximum(
        loads + other_sums + (array - other_sums) / blocks,
        array + inputs + (loads - inputs) / blocks,
    )
    cycles = cycles + latency + follows - array
    waits = array_latency_cycles(config) + store_latency_cycles(config)
    stores = _store_cycles(work.sums, config)
    return cycles + _not_hidden(work, stores, structure, tile, last=True) + waits


def _not_hidden(
    work: TileWork, stores: Cycles, structure: MacStructure, tile: Sizes, last: bool = False
) -> Cycles:
    """Of the ``stores`` of a tile, what its own steps do not hide; before another tile with the
    same sums, or of the ``last``."""
    blocks, array = tile["blocks"], work.array_cycles
    if structure.step_order == "kernel_first":  # all sums are finished by the last part
        array = array / (tile["depth"] * prod(tile[name] for name in KERNEL_LOOPS))
        if not last:
            return np.maximum(0, stores - array)
    elif last:
        return np.maximum(stores + array / blocks, array + stores / blocks) - array
    else:
        return stores / blocks
    return np.maximum(stores, array + stores / blocks) - array
