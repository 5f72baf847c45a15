"""Schedules of pooling: by the store unit, or by the device's steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm.s_tir import SBlock, Schedule

from ..device import Memories
from ..intrin import gemm_rows, operand_scopes
from .mac_schedule import annotate_pipeline

# The loops that tiles are cut from: images, channel blocks, output lines, their pixels or steps.
POOLED = ("n", "cb", "y", "xx")


# The blocks of definitions: of those that stores pool, and of those that steps do.
_BLOCKS = ({"load_a", "store"}, {"load_a", "load_b", "mac", "max", "store"})


def is_pool(sch: Schedule) -> bool:
    """Whether this is the definition of a pool, nothing scheduled yet."""
    names: set[str] = set()
    tvm_ffi.structural_walk(
        sch.mod["main"].body, (SBlock, lambda block: names.add(str(block.name_hint)))
    )
    names.discard("root")
    return names in _BLOCKS and len(sch.get_loops(sch.get_sblock("store"))) == len(POOLED) + 1


def schedule_pool(
    sch: Schedule,
    memories: Memories,
    pipelined: bool,
    decisions: Mapping[str, list[int]] | None = None,
) -> None:
    """Schedule a definition's blocks in place: with a block ``max`` by the device's steps, else a
    ``store`` that reads windows of a tile in the memory of sums.

    Parameters
    ----------
    pipelined : whether the next tile is loaded before this one is pooled.
    decisions : ``[outer, inner]`` by the names in :data:`POOLED`; those that are not given are
        sampled.
    """
    intrinsics = (sch.mod["main"].attrs or {}).get("npu.tensorize", {})
    if intrinsics:
        names = {str(block): str(name) for block, name in intrinsics.items()}
        _by_steps(sch, names, pipelined, decisions or {})
        return
    *spatial, lane = sch.get_loops(sch.get_sblock("store"))
    outer, inner = _tiles(sch, spatial, decisions or {})
    sch.reorder(*outer, *inner, lane)
    load = sch.get_sblock("load_a")
    sch.set_scope(load, 0, memories.sums.scope)
    sch.compute_at(load, outer[-1])
    if pipelined:
        annotate_pipeline(sch, outer[-1], [0, 1])


def _by_steps(
    sch: Schedule,
    intrinsics: Mapping[str, str],
    pipelined: bool,
    decisions: Mapping[str, list[int]],
) -> None:
    """An iteration over tiles loads an image, then takes one place of all windows after the other
    to the sums and into the maxima, and stores."""
    load_a, load_b, mac, maximum, store = (
        sch.get_sblock(name) for name in ("load_a", "load_b", "mac", "max", "store")
    )
    rows = gemm_rows(intrinsics["mac"])
    *spatial, pixels, lane = sch.get_loops(store)
    steps, row = sch.split(pixels, [None, rows])
    outer, inner = _tiles(sch, [*spatial, steps], decisions)
    sch.reorder(*outer, *inner, row, lane)
    tile = sch.fuse(*outer)  # one loop: what is pipelined never drains between rows of tiles
    inputs, weights, sums = operand_scopes(intrinsics["mac"])
    for block, scope in ((load_a, inputs), (load_b, weights), (mac, sums), (maximum, sums)):
        sch.set_scope(block, 0, scope)
    # Unit loops stay, so that a replay with other tile sizes finds the same loops.
    sch.compute_at(maximum, tile, preserve_unit_loops=True)
    *around, lane, line, place = _inside(sch, maximum, tile)
    sch.reorder(line, place, *around, lane)
    sch.compute_at(mac, place, preserve_unit_loops=True)
    sch.compute_at(load_a, tile, preserve_unit_loops=True)
    start = sch.decompose_reduction(maximum, line)
    for block, name in ((maximum, "max"), (start, "fill")):
        sch.tensorize(sch.add_unit_loop(sch.get_loops(block)[-1]), intrinsics[name])
    first, *_, pixels, _, _ = _inside(sch, mac, place)
    row = sch.split(pixels, [None, rows])[1]
    sch.decompose_reduction(mac, first)
    sch.tensorize(row, intrinsics["mac"])
    if pipelined:
        annotate_pipeline(sch, tile, [0, 1, 1, 1])


def _inside(sch: Schedule, block: Any, loop: Any) -> list[Any]:
    """The loops around a block that are inside of another one."""
    loops = sch.get_loops(block)
    depth = next(i for i, other in enumerate(loops) if sch.get(other).same_as(sch.get(loop)))
    return loops[depth + 1 :]


def _tiles(
    sch: Schedule, loops: list[Any], decisions: Mapping[str, list[int]]
) -> tuple[list[Any], list[Any]]:
    outer, inner = [], []
    for name, loop in zip(POOLED, loops, strict=True):
        factors = sch.sample_perfect_tile(
            loop, n=2, max_innermost_factor=1 << 16, decision=decisions.get(name)
        )
        pair = sch.split(loop, factors)
        outer.append(pair[0])
        inner.append(pair[1])
    return outer, inner
