"""The packings of a scheduled function: which layout its loads of packed weights ask for.

A schedule marks such a load (:data:`npu_target.intrin.PACKED`); the tile that it fills says the
rest. The load's block still reads the argument as the operator has it: what a mark changes is where
the bytes lie, not what is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tvm
import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, kind_of
from ..device.intrinsic import Access
from ..intrin import PACKED, step_call
from ..packing import Packing, TileLoop
from ..topi.routed import served_by
from .bounds import counting
from .copies import is_call
from .errors import CodegenError, about
from .linear import Linear, all_linear, combine, comparisons, linear


def packings(func: tirx.PrimFunc, config: DeviceConfig) -> dict[str, Packing]:
    """The layouts of a scheduled function's packed arguments, by name; the others are as they are.

    Raises
    ------
    CodegenError
        where a load that is marked for it cannot be packed, or two disagree.
    OperatorError
        as `served_by` does.
    """
    served = served_by(func, config)
    if served is not None:
        return dict(served.route.packings(served.operator))
    loops: list[tirx.For] = []
    func = all_marked(func, config)
    tvm_ffi.structural_walk(func.body, (tirx.For, loops.append))
    found: dict[str, Packing] = {}
    for loop in loops:
        if PACKED not in loop.annotations:
            continue
        nest, load = _marked_nest(loop)
        with about(load.block.body):
            name, packing = _packing(nest, load, config)
        if found.setdefault(name, packing) != packing:
            raise CodegenError(f"argument {name} is packed in two ways: it can lie in one")
    return found


def all_marked(func: tirx.PrimFunc, config: DeviceConfig) -> tirx.PrimFunc:
    """A scheduled function whose loads of weights are all marked as packed, where the device takes
    them in no other way; the rows of a tile that was not marked are in the order of its dimensions.

    Raises
    ------
    CodegenError
        for a load without loops of its own.
    """
    kind = kind_of(config)
    if not (kind.has_schedules and kind.copy_rules(config).transposed_weights):
        return func
    tiles = _tiles_of_weights(func, config)
    names: list[str] = []

    def visit(block: s_tir.SBlock) -> None:
        if isinstance(block.body, BufferStore) and block.body.buffer in tiles:
            names.append(str(block.name_hint))

    tvm_ffi.structural_walk(func.body, (s_tir.SBlock, visit))
    schedule = s_tir.Schedule(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}))
    for name in names:
        block = schedule.get_sblock(name)
        own, loops = len(schedule.get(block).iter_vars), schedule.get_loops(block)
        if any(PACKED in schedule.get(loop).annotations for loop in loops):
            continue
        if not 0 < own <= len(loops):
            raise CodegenError(f"block {name} fills a tile of weights without loops of its own")
        n_dimensions = len(schedule.get(block).writes[0].region)
        schedule.annotate(loops[-own], PACKED, list(range(n_dimensions - 1)))
    return schedule.mod["main"].with_attrs(func.attrs) if names else func


def _tiles_of_weights(func: tirx.PrimFunc, config: DeviceConfig) -> set[tirx.Buffer]:
    """What steps take as weights: of a memory that holds inputs as well, not all of it is."""
    intrinsics = kind_of(config).intrinsics(config)
    matched: dict[tirx.Buffer, tirx.Buffer] = {}
    taken: set[tirx.Buffer] = set()

    def visit_block(block: s_tir.SBlock) -> None:
        matched.update({region.buffer: region.source.source for region in block.match_buffers})

    def visit_call(node: ir.Call) -> None:
        call = step_call(node, intrinsics)
        if call is not None and call.intrinsic.multiplies:
            both = zip(call.operands, call.elements, strict=True)
            taken.update(
                element.source
                for operand, element in both
                if operand.access is Access.READ and not operand.follows
            )

    tvm_ffi.structural_walk(func.body, ((s_tir.SBlock, visit_block), (ir.Call, visit_call)))
    return {matched.get(buffer, buffer) for buffer in taken}


def packed_element(store: BufferStore, dtype: str) -> TensorLoad:
    """The element of an argument, of the type of weights, that a packed load reads.

    Raises
    ------
    CodegenError
        for a store of anything else than such elements, or 0.
    """
    value = store.value
    if is_call(value, "prim.if_then_else"):
        value = value.args[1]
    if not isinstance(value, TensorLoad) or str(value.source.dtype) != dtype:
        raise CodegenError(f"what is packed must be {dtype} elements of an argument, not {value}")
    return value


def tile_number(packing: Packing, first: Sequence[Linear]) -> Linear:
    """The number of the tile whose first element has these indices.

    Raises
    ------
    CodegenError
        where that may be no tile's first element.
    """
    total = Linear()
    for dimension in packing.tile_order:
        index, span = first[dimension], Linear(packing.spans[dimension])
        if combine("floormod", index, span) != Linear():
            raise CodegenError(
                f"a packed load begins inside of a tile: along dimension {dimension} of the "
                f"argument tiles have {span.const} elements, and not all loads begin at a multiple"
            )
        total = total * packing.tiles[dimension] + combine("floordiv", index, span)
    return total


def _marked_nest(marked: tirx.For) -> tuple[list[tirx.For], s_tir.SBlockRealize]:
    """The loops from a marked one on, and the block in them that loads."""
    loops: list[tirx.For] = []
    stmt: tirx.Stmt = marked
    while isinstance(stmt, tirx.For):
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, s_tir.SBlockRealize) or not isinstance(stmt.block.body, BufferStore):
        raise CodegenError(
            f"loop `{marked.loop_var.name}`, which is marked {PACKED}, holds more than one load: "
            "mark the outermost of the load's own loops"
        )
    return loops, stmt


def _packing(
    loops: Sequence[tirx.For], load: s_tir.SBlockRealize, config: DeviceConfig
) -> tuple[str, Packing]:
    """The packed argument of a load in marked loops, and its layout."""
    store = load.block.body
    weights = config.memories.weights
    element = packed_element(store, weights.dtype)
    numbers = {loop.loop_var: number for number, loop in enumerate(loops)}
    env: dict[Var, Linear] = {}
    _number(load.iter_values, numbers, env)
    for iterator, value in zip(load.block.iter_vars, load.iter_values, strict=True):
        env[iterator.var] = linear(value, env)
    indices = all_linear(element.indices, env)
    shape = tuple(int(extent) for extent in element.source.shape)
    _check_zeros(store, env, indices, shape)
    order = (*(int(place) for place in loops[0].annotations[PACKED]), len(store.indices) - 1)
    extents = {number: int(loop.extent.value) for number, loop in enumerate(loops)}
    tile_loops: list[TileLoop] = []
    if not (isinstance(load.predicate, tirx.IntImm) and load.predicate.value):
        raise CodegenError(
            f"a packed load of {element.source.name} is made where `{load.predicate}` only: split "
            "its loops by what divides them"
        )
    for place in order:
        along = linear(store.indices[place], env)
        found = _loops_along(along, indices, extents)
        if found is None:
            raise CodegenError(
                f"a packed tile of {element.source.name} is no box of it: each loop of its load "
                f"has to walk one of its dimensions, `{store.indices[place]}` is another walk"
            )
        tile_loops += found
    if [loop.extent for loop in tile_loops[-2:]] != [weights.columns] * 2:
        raise CodegenError(
            f"a packed load of {element.source.name} loads parts of blocks: all loops over the "
            f"{weights.columns} rows and {weights.columns} columns of a block have to be inside of "
            f"the loop marked {PACKED}"
        )
    packing = Packing(shape, tuple(tile_loops), 1)
    rules = kind_of(config).copy_rules(config)
    widest = rules.most_load_columns(np.dtype(weights.dtype).itemsize)
    blocks = min(packing.tile_blocks, widest // weights.columns)
    packing = Packing(shape, tuple(tile_loops), blocks, rules.transposed_weights)
    return str(element.source.name), packing


def _loops_along(
    along: Linear, indices: Sequence[Linear], extents: Mapping[int, int]
) -> list[TileLoop] | None:
    """The loops that walk one dimension of a tile, outermost first, where those of ``extents`` are
    at these indices of the argument; two that are one loop in parts are that loop.  None where that
    is no walk along dimensions of it."""
    order = counting(along, extents)
    found: list[TileLoop] = []
    for number in order or ():
        steps = [form.coefficient(number) for form in indices]
        if sum(map(bool, steps)) != 1:
            return None
        dimension = next(d for d, step in enumerate(steps) if step)
        loop = TileLoop(dimension, steps[dimension], extents[number])
        if found and found[-1] == (dimension, loop.step * loop.extent, found[-1].extent):
            loop = loop._replace(extent=found.pop().extent * loop.extent)
        found.append(loop)
    return None if order is None else found


def _number(values: Sequence[tirx.Expr], loops: Mapping[Var, int], env: dict[Var, Linear]) -> None:
    """Give each variable of expressions a number, those of a tile's loops theirs."""

    def visit(variable: Var) -> None:
        if variable not in env:
            env[variable] = Linear.loop(loops.get(variable, len(loops) + len(env)))

    tvm_ffi.structural_walk(values, (Var, visit))


def _check_zeros(
    store: BufferStore, env: Mapping[Var, Linear], indices: Sequence[Linear], shape: Sequence[int]
) -> None:
    """Raise CodegenError where a load makes anything 0 but what is past the argument's end: that is
    what is 0 in a packed argument."""
    if not is_call(store.value, "prim.if_then_else"):
        return
    inside = [index * -1 + (size - 1) for index, size in zip(indices, shape, strict=True)]
    condition = store.value.args[0]
    for form in comparisons(condition, env):
        if form not in inside and not (form.is_const and form.const >= 0):
            raise CodegenError(
                f"a packed load is 0 where not `{condition}`: that is no end of the argument"
            )
