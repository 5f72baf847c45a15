"""Rules that generate schedules from a definition's own blocks, whatever the operator is.

Each rule looks at one block, gives the schedule back where it does not apply, and otherwise
returns one schedule a structure, tile sizes left to be sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import SBlockRV

from ..device import DeviceConfig, Memories
from ..topi.mac_schedule import for_loops, mac_loops, scheduled_mac
from ..topi.mac_structure import STEP_ORDERS, MacStructure
from ..topi.pool_schedule import is_pool, schedule_pool
from .described import described_blocks


@derived_object
class TileArraySteps(ms.schedule_rule.PyScheduleRule):
    """Multi-level tiling of a block that the array computes: every order of tiles and steps,
    either operand kept or both streamed, the reduction whole or split, pipelined or not; where the
    weights' layout is free (``layout_free``), packed or not."""

    def __init__(self, config: DeviceConfig, layout_free: bool = False) -> None:
        super().__init__()
        self.config, self.layout_free = config, layout_free

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        """One schedule a structure that the block's loops allow."""
        if sch.get(block).name_hint != "mac" or not mac_loops(sch):
            return [sch]
        structures = mac_structures(mac_loops(sch), self.layout_free)
        return scheduled_mac(sch, for_loops(sch, structures, self.config))

    def clone(self) -> TileArraySteps:
        """The same rule: it holds no state."""
        return TileArraySteps(self.config, self.layout_free)


@derived_object
class TileDescribedSteps(ms.schedule_rule.PyScheduleRule):
    """The same of a block in any function whose computation is that of the device's step, by the
    description of its intrinsic; what does not come out even is padded."""

    def __init__(self, config: DeviceConfig) -> None:
        super().__init__()
        self.config = config

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        """One schedule a structure that the block's loops allow."""
        if mac_loops(sch) or len(sch.get(block).reads) < 2:
            return [sch]
        start = sch.copy()
        blocks = described_blocks(start, block, self.config)
        if blocks is None:
            return [sch]
        structures = mac_structures(blocks.loops)
        return scheduled_mac(start, for_loops(start, structures, self.config, blocks), blocks)

    def clone(self) -> TileDescribedSteps:
        """The same rule: it holds no state."""
        return TileDescribedSteps(self.config)


@derived_object
class TilePooling(ms.schedule_rule.PyScheduleRule):
    """Tiling of pools: by stores, of windows of a tile in the memory of sums, or by steps."""

    def __init__(self, memories: Memories) -> None:
        super().__init__()
        self.memories = memories

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        """The store's tiles, pipelined and not."""
        if sch.get(block).name_hint != "store" or not is_pool(sch):
            return [sch]
        results = []
        for pipelined in (True, False):
            results.append(sch.copy())
            schedule_pool(results[-1], self.memories, pipelined)
        return results

    def clone(self) -> TilePooling:
        """The same rule: it holds no state."""
        return TilePooling(self.memories)


def schedule_rules(
    config: DeviceConfig, layout_free: bool = False
) -> list[ms.schedule_rule.PyScheduleRule]:
    """The rules for a device, in the order in which they are tried; ``layout_free`` as in
    `TileArraySteps`."""
    return [TileArraySteps(config, layout_free), TilePooling(config.memories)]


def mac_structures(loops: Sequence[str], layout_free: bool = False) -> list[MacStructure]:
    """Every structure that makes sense for these loops.  A kept operand needs the whole reduction
    at once, and so do two tiles of sums; a split reduction is streamed.  Packed weights, if their
    layout is free, are for what is pipelined: it is what waits for memory.  Program order is for
    what may have small tiles: products, not images, of which a tile takes whole lines."""
    structures = []
    for tiles, order, overlap in product(("weights_kept", "inputs_kept"), STEP_ORDERS, _OVERLAPS):
        for kept, split in ((True, False), (False, False), (False, True)):
            if split and ("depth" not in loops or overlap.get("two_sums")):
                continue
            structures.append(MacStructure(tiles, kept, split, step_order=order, **overlap))
    packed = [replace(s, packed=True) for s in structures if layout_free and s.pipelined]
    halved = [replace(s, halved=True) for s in structures + packed if s.may_be_halved]
    orders = structures + packed + halved
    ends = [replace(s, ends=True) for s in orders if s.pipelined]
    has_lines = "lines" in loops or "joined" in loops
    in_order = [
        replace(s, in_order=True) for s in structures + packed if s.pipelined and not has_lines
    ]
    return orders + ends + in_order


# A schedule without any overlap has the whole memory for one tile.
_OVERLAPS: tuple[dict[str, bool], ...] = (
    {"pipelined": True},
    {"pipelined": True, "wide": True},
    {"pipelined": True, "two_sums": True},
    {"pipelined": True, "two_sums": True, "wide": True},
    {"pipelined": False},
)
