"""Schedules of multiply-accumulate definitions: a structure, and tile sizes to fill it.

The definitions share their blocks (``load_a``, ``load_b``, ``mac``, ``store``) and the order of
their loops, so one function schedules them all.  What a structure leaves open, the tile sizes,
is sampled, or given as a decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm.s_tir import Schedule

from ..intrin import ACCUMULATOR, SCRATCHPAD

# Orders of the array's steps inside a tile, from the outside in.
STEP_ORDERS: dict[str, tuple[str, ...]] = {
    # A block of weights stays while the tile's pixels pass.
    "blocks_first": ("blocks", "kernel_h", "kernel_w", "depth", "lines", "steps"),
    # As above, and the same pixels meet all output blocks before the next kernel position.
    "kernel_first": ("kernel_h", "kernel_w", "depth", "blocks", "lines", "steps"),
    # A line of outputs is finished before the next one.
    "lines_first": ("lines", "blocks", "kernel_h", "kernel_w", "depth", "steps"),
}


@dataclass(frozen=True)
class MacStructure:
    """Everything about a schedule but its tile sizes.

    tiles : the order of the loops over tiles; ``"weights_kept"`` walks the pixels inside the
        output blocks, ``"inputs_kept"`` the output blocks inside the pixels.
    kept : whether the operand that those inner loops do not change stays in the scratchpad.
    split_depth : whether the reduction is loaded in several tiles, its sums staying in the
        accumulator.
    step_order : a key of :data:`STEP_ORDERS`.
    pipelined : whether the next tile is loaded before this one is computed.
    """

    tiles: str = "weights_kept"
    kept: bool = False
    split_depth: bool = False
    step_order: str = "blocks_first"
    pipelined: bool = True


class _Loops:
    """The loops of a ``mac`` block by what they walk; absent ones are None."""

    def __init__(self, sch: Schedule, mac: Any) -> None:
        loops = list(sch.get_loops(mac))
        kinds = [str(var.iter_type) for var in sch.get(mac).iter_vars]
        spatial = [loop for loop, kind in zip(loops, kinds) if _is_spatial(kind)]
        reduction = [loop for loop, kind in zip(loops, kinds) if not _is_spatial(kind)]
        self.batch, self.blocks, *pixels, self.lane = spatial
        self.pixels = pixels.pop()
        self.lines = pixels.pop() if pixels else None
        *rest, self.depth_lane = reduction
        self.kernel_h = rest.pop(0) if len(rest) >= 2 else None
        self.kernel_w = rest.pop(0) if self.kernel_h is not None else None
        self.depth = rest.pop() if rest else None


def _is_spatial(kind: str) -> bool:
    return kind == "0"  # IterVar.DataPar


def schedule_mac(
    sch: Schedule, structure: MacStructure, decisions: Mapping[str, list[int]] | None = None
) -> None:
    """Schedule a definition's ``mac`` block and its copies in place.

    Parameters
    ----------
    decisions : ``[outer, inner]`` for ``"blocks"``, ``"lines"``, ``"steps"`` and ``"depth"``;
        those not given are sampled.
    """
    decisions = decisions or {}
    mac = sch.get_sblock("mac")
    intrinsic = sch.mod["main"].attrs["npu.tensorize"]["mac"]
    rows = int(str(intrinsic).split("_")[1].split("x")[0])
    loops = _Loops(sch, mac)
    steps, row = sch.split(loops.pixels, [None, rows])

    def tile(name: str, loop: Any) -> tuple[Any, Any]:
        if loop is None:
            return None, None
        factors = sch.sample_perfect_tile(
            loop, n=2, max_innermost_factor=1 << 16, decision=decisions.get(name)
        )
        outer, inner = sch.split(loop, factors)
        return outer, inner

    blocks_outer, blocks = tile("blocks", loops.blocks)
    lines_outer, lines = tile("lines", loops.lines)
    steps_outer, steps = tile("steps", steps)
    depth_outer, depth = (None, loops.depth)
    if structure.split_depth:
        depth_outer, depth = tile("depth", loops.depth)
    inner = {
        "blocks": blocks,
        "kernel_h": loops.kernel_h,
        "kernel_w": loops.kernel_w,
        "depth": depth,
        "lines": lines,
        "steps": steps,
    }
    pixel_tiles = [loop for loop in (lines_outer, steps_outer) if loop is not None]
    if structure.tiles == "weights_kept":
        tiles = [blocks_outer, *pixel_tiles]
    else:
        tiles = [*pixel_tiles, blocks_outer]
    in_order = [inner[name] for name in STEP_ORDERS[structure.step_order]]
    steps_in_order = [loop for loop in in_order if loop is not None]
    reduction = [depth_outer] if depth_outer is not None else []
    sch.reorder(
        loops.batch, *tiles, *reduction, *steps_in_order, row, loops.lane, loops.depth_lane
    )

    innermost = tiles[-1]
    changing = reduction[0] if reduction else innermost
    keeper = tiles[0] if structure.tiles == "weights_kept" else tiles[-2]
    load_a, load_b = sch.get_sblock("load_a"), sch.get_sblock("load_b")
    kept = {"weights_kept": load_b, "inputs_kept": load_a}[structure.tiles]
    for load in (load_a, load_b):
        sch.set_scope(load, 0, SCRATCHPAD)
        sch.compute_at(load, keeper if structure.kept and load is kept else changing)
    sch.set_scope(mac, 0, ACCUMULATOR)
    sch.reverse_compute_at(sch.get_sblock("store"), innermost)
    sch.decompose_reduction(mac, reduction[0] if reduction else steps_in_order[0])
    sch.tensorize(row, intrinsic)
    if structure.pipelined:
        n_loads = 1 if structure.kept else 2
        if reduction:
            annotate_pipeline(sch, changing, [0] * n_loads + [1])
        else:  # loads, start of the accumulator, steps, store
            annotate_pipeline(sch, changing, [0] * n_loads + [1, 1, 1])


def annotate_pipeline(sch: Schedule, loop: Any, stages: list[int]) -> None:
    """Overlap a loop's statements: those of stage s run s iterations behind stage 0's."""
    sch.annotate(loop, "software_pipeline_stage", stages)
    sch.annotate(loop, "software_pipeline_order", list(range(len(stages))))
