"""Which layout a scheduled function's packed loads ask for, and what cannot be packed."""

from __future__ import annotations

import pytest
from tvm.s_tir import Schedule
from tvm.script import tirx as T

from npu_target.device import preset
from npu_target.intrin import PACKED
from npu_target.packing import Packing, TileLoop
from npu_target.passes.errors import CodegenError
from npu_target.passes.linear import Linear
from npu_target.passes.packings import packings, tile_number
from npu_target.topi import Conv2d, Matmul
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")


def scheduled(operator, structure, tiles):
    schedule = Schedule(operator.prim_func(CONFIG))
    schedule_mac(schedule, structure, tiles)
    return schedule.mod["main"]


def test_a_convolutions_weights_in_the_order_of_the_steps():
    conv = Conv2d(1, 8, 8, 64, 128, 3, 3, pad=(1, 1, 1, 1), bias=False)
    tiles = {"blocks": [2, 4], "lines": [1, 8], "steps": [1, 1], "depth": [2, 2]}
    reduction = (TileLoop(0, 1, 3), TileLoop(1, 1, 3), TileLoop(2, 16, 2))
    blocks = TileLoop(3, 16, 4)
    by_order = {"blocks_first": (blocks, *reduction), "kernel_first": (*reduction, blocks)}
    for order, outer in by_order.items():
        structure = MacStructure(split_depth=True, step_order=order, packed=True)
        loops = (*outer, TileLoop(2, 1, 16), TileLoop(3, 1, 16))
        wanted = {"weight": Packing((3, 3, 64, 128), loops, 4)}
        assert packings(scheduled(conv, structure, tiles), CONFIG) == wanted


def test_a_tile_of_few_blocks_has_short_lines():
    product = Matmul(1, 32, 32, 64, bias=False)
    tiles = {"blocks": [4, 1], "steps": [1, 2]}
    (packing,) = packings(scheduled(product, MacStructure(packed=True), tiles), CONFIG).values()
    assert packing.tile_blocks == packing.blocks == 2
    assert packing.packed_shape == (32 * 64,)


def test_what_is_not_marked_lies_as_it_is():
    product = Matmul(1, 32, 32, 64)
    assert packings(scheduled(product, MacStructure(), {}), CONFIG) == {}


def test_tiles_are_counted_by_output_channels_first():
    loops = (TileLoop(0, 1, 3), TileLoop(1, 16, 2), TileLoop(1, 1, 16), TileLoop(2, 1, 16))
    packing = Packing((3, 64, 48), loops, 4)
    assert packing.tiles == (1, 2, 3)
    first = [Linear(), Linear.loop(1) * 32, Linear.loop(2) * 16]
    assert tile_number(packing, first) == Linear.loop(2) * 2 + Linear.loop(1)
    with pytest.raises(CodegenError, match="begins inside of a tile"):
        tile_number(packing, [Linear(), Linear.loop(1) * 16, Linear()])


def loads(zero_from: int):
    """Two loads of weights, which are zeros from a row on, into tiles of two blocks."""

    @T.prim_func(s_tir=True)
    def func(b: T.Buffer((32, 16), "int8"), out: T.Buffer((2, 16, 16), "int8")):
        with T.sblock("root"):
            first = T.sblock_alloc_buffer((2, 16, 16), "int8")
            second = T.sblock_alloc_buffer((2, 16, 16), "int8")
            for kb, k, j in T.grid(2, 16, 16):
                with T.sblock("load_1"):
                    v, vk, vj = T.axis.remap("SSS", [kb, k, j])
                    first[v, vk, vj] = T.if_then_else(
                        v * 16 + vk < zero_from, b[v * 16 + vk, vj], T.int8(0)
                    )
            for kb, k, j in T.grid(2, 16, 16):
                with T.sblock("load_2"):
                    v, vk, vj = T.axis.remap("SSS", [kb, k, j])
                    second[v, vk, vj] = b[v * 16 + vk, vj]
            for kb, k, j in T.grid(2, 16, 16):
                with T.sblock("sum"):
                    v, vk, vj = T.axis.remap("SSS", [kb, k, j])
                    out[v, vk, vj] = first[v, vk, vj] + second[v, vk, vj]

    return Schedule(func)


def marked(schedule, block, order, loop=0):
    schedule.annotate(schedule.get_loops(schedule.get_sblock(block))[loop], PACKED, order)
    return schedule.mod["main"]


def test_two_loads_of_an_argument_must_agree():
    schedule = loads(32)
    assert len(packings(marked(schedule, "load_1", [0, 1]), CONFIG)) == 1
    assert len(packings(marked(schedule, "load_2", [0, 1]), CONFIG)) == 1
    schedule = loads(32)
    marked(schedule, "load_1", [0, 1])
    with pytest.raises(CodegenError, match="b is packed in two ways"):
        packings(marked(schedule, "load_2", [0, 1], loop=1), CONFIG)  # a block at a time


def test_whole_blocks_are_packed():
    with pytest.raises(CodegenError, match="a packed load of b loads parts of blocks"):
        packings(marked(loads(32), "load_1", [1, 0]), CONFIG)


def test_zeros_must_be_past_the_arguments_end():
    with pytest.raises(CodegenError, match="no end of the argument"):
        packings(marked(loads(20), "load_1", [0, 1]), CONFIG)


def test_only_a_load_of_an_argument_is_packed():
    with pytest.raises(CodegenError, match="must be int8 elements of an argument"):
        packings(marked(loads(32), "sum", [0, 1]), CONFIG)


@pytest.mark.parametrize("factors", [[2, 8], [8, 2], [4, 2, 2]])
def test_a_loop_in_parts_is_that_loop(factors):
    whole = packings(marked(loads(32), "load_1", [0, 1]), CONFIG)
    schedule = loads(32)
    _, rows, _ = schedule.get_loops(schedule.get_sblock("load_1"))
    schedule.split(rows, factors)
    assert packings(marked(schedule, "load_1", [0, 1]), CONFIG) == whole


def load(element):
    """A load of a tile of two blocks, each of its elements by `element(b, v, k, j)`."""

    @T.prim_func(s_tir=True)
    def func(b: T.Buffer((64, 64), "int8"), out: T.Buffer((2, 16, 16), "int8")):
        with T.sblock("root"):
            tile = T.sblock_alloc_buffer((2, 16, 16), "int8")
            for kb, k, j in T.grid(2, 16, 16):
                with T.sblock("load"):
                    v, vk, vj = T.axis.remap("SSS", [kb, k, j])
                    tile[v, vk, vj] = element(b, v, vk, vj)
            for kb, k, j in T.grid(2, 16, 16):
                with T.sblock("copy"):
                    v, vk, vj = T.axis.remap("SSS", [kb, k, j])
                    out[v, vk, vj] = tile[v, vk, vj]

    return Schedule(func)


def test_a_walk_along_two_dimensions_is_no_tile():
    straight = load(lambda b, v, k, j: b[v * 16 + k, j])
    assert len(packings(marked(straight, "load", [0, 1]), CONFIG)) == 1
    askew = load(lambda b, v, k, j: b[v * 16 + k, v * 16 + j])
    with pytest.raises(CodegenError, match="is no box of it"):
        packings(marked(askew, "load", [0, 1]), CONFIG)


def test_a_condition_that_always_holds_makes_no_zeros():
    always = load(lambda b, v, k, j: T.if_then_else(k - k < 1, b[v * 16 + k, j], T.int8(0)))
    assert len(packings(marked(always, "load", [0, 1]), CONFIG)) == 1
    never = load(lambda b, v, k, j: T.if_then_else(k - k < 0, b[v * 16 + k, j], T.int8(0)))
    with pytest.raises(CodegenError, match="no end of the argument"):
        packings(marked(never, "load", [0, 1]), CONFIG)


def test_a_load_that_is_made_in_part_is_not_packed():
    schedule = loads(32)
    _, rows, _ = schedule.get_loops(schedule.get_sblock("load_1"))
    schedule.split(rows, [None, 5])
    with pytest.raises(CodegenError, match=r"a packed load of b is made where .* only"):
        packings(marked(schedule, "load_1", [0, 1]), CONFIG)
