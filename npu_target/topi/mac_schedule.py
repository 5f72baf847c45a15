"""Schedules of multiply-accumulate definitions: a structure, and tile sizes to fill it.

The definitions share their blocks (``load_a``, ``load_b``, ``mac``, ``store``) and say by
attributes which intrinsic computes ``mac`` and what its loops walk, so one function schedules
them all.  What a structure leaves open, the tile sizes, is sampled, or given as a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from ..device import DeviceConfig
from ..intrin import ENDS, HALVED, IN_ORDER, PACKED, WIDE, gemm_rows, operand_scopes
from .mac_structure import (
    STEP_ORDERS,
    MacStructure,
    most_kernel_positions,
    split_loops,
    tiled_loops,
)
from .marked_trace import MarkedTrace, MarkPlace


class MacBlocks(NamedTuple):
    """The blocks of a multiply-accumulate in a schedule.

    mac : what the array computes.
    intrinsic : the tensor intrinsic that does.
    loops : what its loops walk, from the outside in.
    copies : gives the blocks that load A and B and the one that stores.
    walks_whole : whether its iterators walk what its loops do, as those of definitions.
    whole_steps : whether the store takes all rows of each step, so that sums may lie side by side.
    """

    mac: Any
    intrinsic: str
    loops: tuple[str, ...]
    copies: Callable[[Schedule], tuple[Any, Any, Any]]
    walks_whole: bool = True
    whole_steps: bool = True


def defined_blocks(sch: Schedule, suffix: str = "") -> MacBlocks:
    """The blocks of a definition, or of one of its strips, by its suffix."""
    mac = sch.get_sblock(f"mac{suffix}")
    intrinsic = str(sch.mod["main"].attrs["npu.tensorize"][f"mac{suffix}"])

    def copies(sch: Schedule) -> tuple[Any, Any, Any]:
        load_a, load_b, store = (
            sch.get_sblock(f"{name}{suffix}") for name in ("load_a", "load_b", "store")
        )
        return load_a, load_b, store

    return MacBlocks(mac, intrinsic, mac_loops(sch, suffix), copies)


def mac_loops(sch: Schedule, suffix: str = "") -> tuple[str, ...]:
    """What the loops of the definition's ``mac`` block (or of a strip's, by its suffix) walk, from
    the outside in; empty for a definition without such a block."""
    loops = (sch.mod["main"].attrs or {}).get("npu.loops", {})
    return tuple(str(role) for role in loops.get(f"mac{suffix}", ()))


def for_loops(
    sch: Schedule,
    structures: Iterable[MacStructure],
    config: DeviceConfig,
    blocks: MacBlocks | None = None,
) -> list[MacStructure]:
    """The structures as a definition, or other `blocks`, take them on a device
    (`MacStructure.fitted`), equal ones once: never wide where lines are joined, which would fall
    apart again, where the last step is stored in part, or where a step has more rows than blocks
    then lie apart."""
    found = defined_blocks(sch) if blocks is None else blocks
    loops = zip(found.loops, sch.get_loops(found.mac), strict=True)
    extents = {name: _extent(sch, loop) for name, loop in loops}
    has_room = gemm_rows(found.intrinsic) <= config.dim
    may_be_wide = "joined" not in found.loops and found.whole_steps and has_room
    most = most_kernel_positions(config)
    return list(dict.fromkeys(one.fitted(extents, may_be_wide, most) for one in structures))


def schedule_mac(
    sch: Schedule, structure: MacStructure, decisions: Mapping[str, list[int]] | None = None
) -> None:
    """Schedule a definition's ``mac`` block and its copies in place, and those of its strips.

    The strips at an image's edges (``mac_1``, ...) are small: the definition fixes their tiles.

    Parameters
    ----------
    decisions : ``[outer, inner]`` for ``"blocks"``, ``"lines"``, ``"steps"`` and what the
        structure splits of ``"kernel_h"``, ``"kernel_w"`` and ``"depth"``; those not given are
        sampled.

    Raises
    ------
    ValueError
        if the structure splits a reduction that the definition does not have.
    """
    placed = _tile_and_place(sch, structure, defined_blocks(sch), decisions or {}, {})
    _finish(sch, structure, placed)
    _schedule_strips(sch)


def scheduled_mac(
    sch: Schedule, structures: Sequence[MacStructure], blocks: MacBlocks | None = None
) -> list[Schedule]:
    """For each structure a copy of the schedule of a definition, or of other `blocks`, scheduled as
    `schedule_mac` does. What structures have in common is scheduled once, which takes most of the
    time.

    Raises
    ------
    ValueError
        if a structure splits a reduction that the definition does not have.
    """
    placed: dict[MacStructure, tuple[Schedule, _Placed]] = {}
    made = []
    for structure in structures:
        common = structure.unmarked
        if common not in placed:
            start = sch.copy()
            found = defined_blocks(start) if blocks is None else blocks
            placed[common] = start, _tile_and_place(start, common, found, {}, {})
        start, where = placed[common]
        made.append(start.copy())
        _finish(made[-1], structure, where)
        _schedule_strips(made[-1])
    return made


def mac_traces(sch: Schedule, structures: Sequence[MacStructure]) -> list[Trace]:
    """The traces of what `scheduled_mac` makes of the schedule of a definition. One schedule is
    made for all structures that differ in marks only, and the marks are put into its trace.

    Raises
    ------
    ValueError
        if a structure splits a reduction that the definition does not have.
    """
    placed: dict[MacStructure, tuple[MarkPlace, _Placed]] = {}
    made = []
    for structure in structures:
        common = structure.unmarked
        if common not in placed:
            start = sch.copy()
            where = _tile_and_place(start, common, defined_blocks(start), {}, {})
            start.tensorize(where.row, where.intrinsic)
            marked_from = len(start.trace.insts)
            _schedule_strips(start)
            placed[common] = MarkPlace(start, marked_from), where
        place, where = placed[common]
        marked = MarkedTrace(place)
        _mark(marked, structure, where)
        made.append(marked.trace)
    return made


def _schedule_strips(sch: Schedule) -> None:
    for name, tiles in (sch.mod["main"].attrs or {}).get("npu.tiles", {}).items():
        fixed = {str(loop): int(size) for loop, size in tiles.items()}
        structure = MacStructure(pipelined=False)
        suffix = str(name).removeprefix("mac")
        placed = _tile_and_place(sch, structure, defined_blocks(sch, suffix), {}, fixed)
        _finish(sch, structure, placed)


class _Placed(NamedTuple):
    """Blocks and loops of a schedule, and of its copies, whose tiles are cut and placed."""

    row: Any  # the loop that `intrinsic` is for
    intrinsic: str
    n_loads: int  # of tiles that change with every iteration of `changing`
    store: Any
    changing: Any
    store_depth: int  # loops around a store
    split: bool  # a part of the reduction per iteration
    joined: bool
    load_a: Any
    load_b: Any
    weights_order: tuple[int, ...]  # of the dimensions of a tile of weights, as steps walk them


def _tile_and_place(
    sch: Schedule,
    structure: MacStructure,
    blocks: MacBlocks,
    decisions: Mapping[str, list[int]],
    fixed: Mapping[str, int],
) -> _Placed:
    """Schedule these blocks, with tiles of ``fixed`` sizes if any, but for what `_finish` does. TVM
    cannot copy a schedule after that, since it has an intrinsic."""
    mac, intrinsic, roles = blocks.mac, blocks.intrinsic, blocks.loops
    loops = dict(zip(roles, sch.get_loops(mac), strict=True))
    order = _weights_order(sch, mac, roles, structure) if blocks.walks_whole else ()
    joined = "joined" in loops  # pixels of all lines, which no tile takes apart
    pixels = loops.pop("joined" if joined else "pixels")
    loops["steps"], row = sch.split(pixels, [None, gemm_rows(intrinsic)])
    sampled = tiled_loops(roles, structure)
    split = split_loops(roles, structure)
    outer = {}
    for name in ("blocks", "lines", "steps", *split):
        if name not in loops:
            continue
        loop = loops[name]
        if fixed or name not in sampled:
            outer[name], loops[name] = sch.split(loop, [None, fixed.get(name, _extent(sch, loop))])
        else:
            outer[name], loops[name] = _tile(sch, loop, decisions.get(name))

    pixel_tiles = [outer[name] for name in ("lines", "steps") if name in outer]
    reduction = [outer[name] for name in split]
    weights_kept = structure.tiles == "weights_kept"
    tiles = [outer["blocks"], *pixel_tiles] if weights_kept else [*pixel_tiles, outer["blocks"]]
    steps = [loops[name] for name in STEP_ORDERS[structure.step_order] if name in loops]
    lanes = (loops["lane"], loops["depth_lane"])
    sch.reorder(loops["batch"], *tiles, *reduction, *steps, row, *lanes)

    # One loop over all tiles that change an operand: what is pipelined then never drains between
    # the rows or blocks of tiles, and no loop of a single iteration stands in its way.
    keeper = None
    if structure.kept:
        keeper, *tiles = tiles if weights_kept else [_fused(sch, pixel_tiles), outer["blocks"]]
    innermost = _fused(sch, tiles)
    around = [loops["batch"], *([] if keeper is None else [keeper]), innermost]
    changing = reduction[-1] if reduction else innermost
    load_a, load_b, store = blocks.copies(sch)
    kept = load_b if weights_kept else load_a
    inputs, weights, sums = operand_scopes(intrinsic)
    for load, scope in ((load_a, inputs), (load_b, weights)):
        sch.set_scope(load, 0, scope)
        # Unit loops stay, so that a replay with other tile sizes finds the same loops.
        where = keeper if keeper is not None and load is kept else changing
        sch.compute_at(load, where, preserve_unit_loops=True)
    sch.set_scope(mac, 0, sums)
    sch.reverse_compute_at(store, innermost, preserve_unit_loops=True)
    sch.decompose_reduction(mac, reduction[0] if reduction else steps[0])
    n_loads = 1 if structure.kept else 2
    return _Placed(
        row,
        intrinsic,
        n_loads,
        store,
        changing,
        len(around),
        bool(reduction),
        joined,
        load_a,
        load_b,
        order,
    )


def _weights_order(
    sch: Schedule, mac: Any, roles: Sequence[str], structure: MacStructure
) -> tuple[int, ...]:
    """The dimensions of the weights' tile but the last, in the order in which steps walk them."""
    block = sch.get(mac)
    walked = dict(zip((iterator.var for iterator in block.iter_vars), roles, strict=True))
    indices = [extent.min for extent in block.reads[1].region]
    steps = ("batch", *STEP_ORDERS[structure.step_order], "depth_lane")
    place = {walked[index]: dimension for dimension, index in enumerate(indices[:-1])}
    return tuple(place[role] for role in steps if role in place)


def _finish(sch: Schedule, structure: MacStructure, placed: _Placed) -> None:
    """Let the intrinsic compute the steps, and mark."""
    sch.tensorize(placed.row, placed.intrinsic)
    _mark(sch, structure, placed)


def _mark(sch: Schedule | MarkedTrace, structure: MacStructure, placed: _Placed) -> None:
    """Say what happens at the same time, and what lies side by side or in another order."""
    if structure.pipelined:
        # Loads run an iteration ahead; what follows them is the start of the sums, the steps and
        # the store, or just the steps of a part of the reduction.
        stages = [0] * placed.n_loads
        if structure.two_sums and not placed.split:
            annotate_pipeline(sch, placed.changing, [*stages, 0, 1, 1])
        else:
            steps = [1] if placed.split else [1, 1, 1]
            annotate_pipeline(sch, placed.changing, [*stages, *steps])
    if structure.wide and not placed.joined:  # see `for_loops`
        sch.annotate(sch.get_loops(placed.store)[placed.store_depth], WIDE, 1)
    if structure.packed:
        sch.annotate(_copy_loop(sch, placed.load_b), PACKED, list(placed.weights_order))
    if structure.halved:
        sch.annotate(_copy_loop(sch, placed.load_a), HALVED, 1)
    if structure.ends:
        for copy in (placed.load_b, placed.store):
            sch.annotate(_copy_loop(sch, copy), ENDS, 1)
    if structure.in_order:
        sch.annotate(_copy_loop(sch, placed.store), IN_ORDER, 1)


def _copy_loop(sch: Schedule | MarkedTrace, load: Any) -> Any:
    """The outermost of a load's own loops."""
    return sch.get_loops(load)[-len(sch.get(load).iter_vars)]


def _fused(sch: Schedule, loops: list[Any]) -> Any:
    return sch.fuse(*loops) if len(loops) > 1 else loops[0]


def _tile(sch: Schedule, loop: Any, decision: list[int] | None) -> tuple[Any, Any]:
    factors = sch.sample_perfect_tile(loop, n=2, max_innermost_factor=1 << 16, decision=decision)
    outer, inner = sch.split(loop, factors)
    return outer, inner


def _extent(sch: Schedule, loop: Any) -> int:
    return int(sch.get(loop).extent)


def annotate_pipeline(sch: Schedule | MarkedTrace, loop: Any, stages: list[int]) -> None:
    """Overlap a loop's statements: those of stage s run s iterations behind stage 0's."""
    sch.annotate(loop, "software_pipeline_stage", stages)
    sch.annotate(loop, "software_pipeline_order", list(range(len(stages))))
