"""Loads of packed weights whose own loops are others than the templates make: right, or refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm_ffi
from fuzz.device import run
from hypothesis import given
from hypothesis import strategies as st
from kernel_runs import UNWRITTEN, expected, kernel_arguments, random_arguments
from tvm import tirx
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import ScheduleError

from npu_target.codegen_tir import build
from npu_target.device import preset
from npu_target.intrin import PACKED
from npu_target.packing import packed
from npu_target.passes.errors import CodegenError
from npu_target.topi import Matmul
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-8x8")
PRODUCT = Matmul(1, 32, 64, 48, bias=False, scale=2.0**-7)
TILES = {"blocks": [2, 3], "steps": [2, 2], "depth": [2, 4]}
ORDERS = ("blocks_first", "kernel_first")
_OWN = 5  # loops of the load, of which the first, of one iteration, is marked


def scheduled(order: str) -> tuple[Schedule, list]:
    """The product by packed weights, and the own loops of their load."""
    sch = Schedule(PRODUCT.prim_func(CONFIG))
    schedule_mac(sch, MacStructure(split_depth=True, step_order=order, packed=True), TILES)
    return sch, sch.get_loops(sch.get_sblock("load_b"))[-_OWN:]


def check(func: tirx.PrimFunc) -> None:
    """The function computes what NumPy does."""
    arrays = random_arguments(PRODUCT, seed=1)
    names = [arg.name for arg in PRODUCT.args[:-1]]
    inputs = dict(zip(names, kernel_arguments(PRODUCT, arrays), strict=True))
    built = build(func, CONFIG, "k")
    assert built.packings
    laid_out = packed(inputs, built.packings)
    found = run(built.program, [laid_out[name] for name in names], UNWRITTEN, seed=1)
    np.testing.assert_array_equal(found, expected(PRODUCT, arrays))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("in_turn", [False, True])
def test_a_dimension_in_two_loops(order: str, dimension: int, in_turn: bool) -> None:
    sch, own = scheduled(order)
    factor = 3 if dimension == 2 else 4
    outer, inner = sch.split(own[dimension], [None, factor])
    if in_turn:
        sch.reorder(inner, outer)
    check(sch.mod["main"])


REFUSED: dict[str, tuple[str, Callable[[Schedule, list], None]]] = {
    "not by a divisor": (
        r"block `load_b`: a packed load of b is made where `.* < 4` only: split its loops by what",
        lambda sch, own: sch.split(own[1], [None, 3]),
    ),
    "a load and more": (
        "loop `kb_0`, which is marked npu.packed, holds more than one load",
        lambda sch, own: sch.annotate(
            sch.get_loops(sch.get_sblock("load_b"))[-_OWN - 1], PACKED, [0, 1, 2, 3]
        ),
    ),
    "two dimensions in one loop": (
        "a packed tile of b is no box of it: each loop of its load has to walk one of its",
        lambda sch, own: sch.fuse(own[1], own[2]),
    ),
    "a row at a time": (
        "a packed load of b loads parts of blocks: all loops over the 8 rows and 8 columns",
        lambda sch, own: sch.reorder(own[3], own[0]),
    ),
    "the inner dimension outside": (
        r"block `load_b`: a load marked npu.packed fills rows of tile b_\S+ with others between",
        lambda sch, own: sch.reorder(own[1], own[0]),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    message, move = REFUSED[case]
    sch, own = scheduled("blocks_first")
    move(sch, own)
    with pytest.raises(CodegenError, match=message):
        build(sch.mod["main"], CONFIG, "k")


def test_a_load_under_a_condition() -> None:
    """Of a loop that stays one: which of its iterations are meant no command says."""
    sch, own = scheduled("blocks_first")
    marked = sch.get(own[0])
    around = sch.get_loops(sch.get_sblock("load_b"))[:2]
    batch, tiles = (sch.get(loop).loop_var for loop in around)
    func = sch.mod["main"]

    def guarded(loop: tirx.For) -> tirx.Stmt:
        if not loop.same_as(marked):
            return loop
        return tirx.IfThenElse(tiles % 2 + batch < 1, loop, None)

    func = func.with_body(tvm_ffi.structural_map(func.body, ((tirx.For, guarded),)))
    with pytest.raises(CodegenError, match="a tile is written under a condition"):
        build(func, CONFIG, "k")


@given(data=st.data())
def test_own_loops_at_random(data: st.DataObject) -> None:
    """Splits, orders and fusions of the load's loops: what compiles is right."""
    sch, own = scheduled(data.draw(st.sampled_from(ORDERS)))
    *own, columns = own
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(own) - 1))
        move = data.draw(st.sampled_from(["split", "split", "reorder", "fuse"]))
        try:
            if move == "split":
                extent = int(sch.get(own[at]).extent)
                parts = sch.split(own[at], [None, data.draw(st.integers(1, extent))])
                own[at : at + 1] = parts
            elif move == "reorder":
                own = data.draw(st.permutations(own))
                sch.reorder(*own, columns)
            elif at + 1 < len(own):
                own[at : at + 2] = [sch.fuse(own[at], own[at + 1])]
        except ScheduleError:  # of the marked loop
            continue
    try:
        check(sch.mod["main"])
    except CodegenError:
        return
