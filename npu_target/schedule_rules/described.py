"""Products in functions of anyone, found by the description of the device's step.

A definition of this package says by attributes which block the device's step computes.  In any
other function it is the block whose computation TVM maps onto the description of the step's tensor
intrinsic, whatever its name, its loops and their order.  Such a block is given the copies and the
loops that schedules of definitions have: A, B and the sums get blocks that load and store them,
and what does not come out even is padded with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tvm_ffi
from tvm import s_tir, tirx
from tvm.s_tir import Schedule, ScheduleError, TensorIntrin
from tvm.s_tir.schedule import SBlockRV
from tvm.s_tir.schedule.analysis import get_auto_tensorize_mapping_info

from ..device import DeviceConfig, kind_of
from ..intrin import gemm_intrinsic, most_step_rows
from ..topi.blocking import balanced_steps, even_steps
from ..topi.mac_schedule import MacBlocks
from ..topi.mac_structure import KERNEL_LOOPS

# The loops around those of the step, outermost first, by how many there are: of the rows of A...
_AROUND_ROWS: tuple[tuple[str, ...], ...] = ((), ("lines",), ("batch", "lines"))
# ... and of the reduction.
_AROUND_LANES: tuple[tuple[str, ...], ...] = ((), KERNEL_LOOPS[:1], KERNEL_LOOPS)


# The order of iterators in which the step's own come as in its description.
_ITERATORS = ("batch", "lines", "pixels", "blocks", *KERNEL_LOOPS, "depth")


class _Product(NamedTuple):
    """How a block's iterators are those of ``C[i, j] += A[i * row_step, k] * B[k, j]``: what each
    of them walks, and the operands' places among what the block reads."""

    roles: tuple[str, ...]
    row_step: int
    a: int
    b: int


def described_blocks(sch: Schedule, block: SBlockRV, config: DeviceConfig) -> MacBlocks | None:
    """Make of a block that the device's step computes, as its description tells, what
    `scheduled_mac` schedules; the schedule is changed in place.

    Returns None, and leaves the schedule as it is, for a block that the step does not compute, or
    not with rows of its operands next to each other.
    """
    product = _product(sch, block, config)
    if product is None or not _fits(sch, block, product, config):
        return None
    return _prepared(sch, block, product, config)


def _product(sch: Schedule, block: SBlockRV, config: DeviceConfig) -> _Product | None:
    if kind_of(config).features(config).step is None or not sch.get(block).reads:
        return None
    rows = 2 if most_step_rows(config) > 1 else 1  # of one, the description has no loop
    description = TensorIntrin.get(gemm_intrinsic(config, rows)).desc
    info = get_auto_tensorize_mapping_info(sch, block, description)
    if info is None:
        return None
    mapping = info.mappings[0]
    *batches, i, j, k = (_variables(index) for index in mapping.final_indices)
    if len(j) != 1 or len(i) > len(_AROUND_ROWS) or len(k) > len(_AROUND_LANES):
        return None
    names = {
        j[0]: "blocks",
        **dict(zip(i, (*_AROUND_ROWS[len(i) - 1], "pixels"), strict=True)),
        **dict(zip(k, (*_AROUND_LANES[len(k) - 1], "depth"), strict=True)),
    }
    if batches:
        if len(batches) > 1 or len(batches[0]) != 1 or "batch" in names.values():
            return None
        names[batches[0][0]] = "batch"
    node = sch.get(block)
    walked = dict(zip((x.var for x in node.iter_vars), mapping.initial_indices, strict=True))
    roles = tuple(names.get(walked[x.var], "") for x in node.iter_vars)
    if "" in roles or not _has_own_loops(sch, block):
        return None
    variables = {role: x.var for role, x in zip(roles, node.iter_vars, strict=True)}
    i, j, k = (variables[role] for role in ("pixels", "blocks", "depth"))
    a, b = (_reading(node.reads, variable, k) for variable in (i, j))
    if a is None or b is None:
        return None
    parts = [region.region for region in (node.reads[a], node.reads[b], node.writes[0])]
    # Rows and columns last, as in the description.
    for region, row, column in zip(parts, (i, k, i), (k, j, j), strict=True):
        if len(region) < 2 or not _step(region[-2].min, row):
            return None
        if not region[-1].min.same_as(column):
            return None
    row_step = _step(parts[0][-2].min, i)
    return None if row_step is None else _Product(roles, row_step, a, b)


def _has_own_loops(sch: Schedule, block: SBlockRV) -> bool:
    """Whether each iterator of a block is a loop's variable, in their order, as long as nothing is
    scheduled."""
    node, found = sch.get(block), []

    def visit(realize: s_tir.SBlockRealize) -> None:
        if realize.block.same_as(node):
            found.extend(realize.iter_values)

    tvm_ffi.structural_walk(sch.mod["main"].body, (s_tir.SBlockRealize, visit))
    variables = [sch.get(loop).loop_var for loop in sch.get_loops(block)]
    return len(found) == len(variables) and all(map(tirx.Var.same_as, variables, found))


def _variables(index: tirx.Expr) -> list[tirx.Var]:
    """The variables of a sum of products, as they come."""
    if isinstance(index, tirx.Var):
        return [index]
    if isinstance(index, tirx.Mul):
        return _variables(index.a)
    return [*_variables(index.a), *_variables(index.b)] if isinstance(index, tirx.Add) else []


def _reading(reads: Sequence[Any], *variables: tirx.Var) -> int | None:
    """Which one of what is read depends on all of these variables: one operand does."""
    found = [
        place
        for place, region in enumerate(reads)
        if all(any(_step(part.min, x) for part in region.region) for x in variables)
    ]
    return found[0] if len(found) == 1 else None


def _step(index: tirx.Expr, variable: tirx.Var) -> int | None:
    """By how much a sum grows with a variable; None where it is no sum, or does not."""
    if isinstance(index, tirx.Var):
        return 1 if index.same_as(variable) else None
    if isinstance(index, tirx.Mul) and isinstance(index.b, tirx.IntImm):
        step = _step(index.a, variable)
        return None if step is None else step * int(index.b.value)
    if isinstance(index, (tirx.Add, tirx.Sub)):
        return _step(index.a, variable) or _step(index.b, variable)
    return None


def _fits(sch: Schedule, block: SBlockRV, product: _Product, config: DeviceConfig) -> bool:
    """Whether TVM takes the block for the step: tried on a copy of the schedule."""
    trial = sch.copy()
    try:
        blocks = _prepared(trial, block, product, config)
        loops = dict(zip(blocks.loops, trial.get_loops(blocks.mac), strict=True))
        rows = int(TensorIntrin.get(blocks.intrinsic).desc.params[2].shape[0])
        steps, row = trial.split(loops.pop("pixels"), [None, rows])
        inner = (row, loops.pop("lane"), loops.pop("depth_lane"))
        trial.reorder(*loops.values(), steps, *inner)
        scopes = [str(x.scope()) for x in TensorIntrin.get(blocks.intrinsic).desc.params]
        load_a, load_b, _ = blocks.copies(trial)
        for copy, scope in zip((load_a, load_b, blocks.mac), scopes, strict=True):
            trial.set_scope(copy, 0, scope)
        trial.decompose_reduction(blocks.mac, next(iter(loops.values())))
        trial.tensorize(row, blocks.intrinsic)
    except ScheduleError:
        return False
    return True


def _prepared(sch: Schedule, block: SBlockRV, product: _Product, config: DeviceConfig) -> MacBlocks:
    lanes, columns = config.memories.inputs.columns, config.memories.sums.columns
    roles = product.roles
    loops = dict(zip(roles, sch.get_loops(block), strict=True))
    extents = {role: int(sch.get(loop).extent) for role, loop in loops.items()}
    # Only a product of plain tensors is padded: a convolution's rows are as they are.
    is_plain = not {"lines", *KERNEL_LOOPS}.intersection(loops)
    steps = (balanced_steps if is_plain else even_steps)(extents["pixels"], most_step_rows(config))
    multiples = {"pixels": steps.rows, "blocks": columns, "depth": lanes}
    if any(extents[role] % multiple for role, multiple in multiples.items()):
        sch.pad_einsum(block, [multiples.get(role, 1) for role in roles])
    if not roles.index("pixels") < roles.index("blocks") < roles.index("depth"):
        # As the description has them.
        order = sorted(range(len(roles)), key=lambda place: _ITERATORS.index(roles[place]))
        sch.reorder_block_iter_var(block, order)
    load_a, load_b = (_load(sch, block, place) for place in (product.a, product.b))
    store = _store(sch, block)
    found: list[str] = []
    for role, loop in zip(roles, sch.get_loops(block), strict=True):
        if role in ("blocks", "depth"):
            sch.split(loop, [None, multiples[role]])
        found += {"blocks": ["blocks", "lane"], "depth": ["depth", "depth_lane"]}.get(role, [role])
    if "batch" not in found:
        sch.add_unit_loop(sch.get_loops(block)[0])
        found.insert(0, "batch")
    return MacBlocks(
        block,
        gemm_intrinsic(config, steps.rows, product.row_step),
        tuple(found),
        lambda _: (load_a, load_b, store),
        walks_whole=False,
        whole_steps=extents["pixels"] % steps.rows == 0,
    )


def _load(sch: Schedule, block: SBlockRV, place: int) -> SBlockRV:
    """The block that fills an operand: the one that pads it, or a copy."""
    buffer = sch.get(block).reads[place].source
    for producer in sch.get_producers(block):
        if any(region.source.same_as(buffer) for region in sch.get(producer).writes):
            return producer
    return sch.cache_read(block, place, "global")


def _store(sch: Schedule, block: SBlockRV) -> SBlockRV:
    """The block that stores the sums: what becomes of them, or a copy."""
    consumers = sch.get_consumers(block)
    if not consumers:
        return sch.cache_write(block, 0, "global")
    if len(consumers) == 1:
        further = sch.get_consumers(consumers[0])
        if further:  # what takes the padding off again is no copy of its own
            sch.compute_inline(consumers[0])
            return sch.get_consumers(block)[0]
    return consumers[0]
