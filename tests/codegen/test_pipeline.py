"""Statements in loops, against programs in which each comes where it stands.

Of functions at random: loads, zeros, steps and stores of a few tiles, some with two versions that
the iterations of a loop alternate between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from plain_programs import check_rows
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import preset
from npu_target.devices.gemmini.gemm import Gemm
from npu_target.intrin import ENDS, HALVED
from npu_target.program import Loop, Program

CONFIG = preset("gemmini-8x8")
GEMM_CALL = Gemm.call
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
BLOCKS, SIDE, TILES = 8, 8, 2


@dataclass(frozen=True)
class Leaf:
    """A nest over the blocks ``first`` to ``end`` of tiles.

    kind : "a", "b" and "bias" load one tile, "zeros" sets it to zero, "store" stores it, and
        "step" adds to it.
    tile : of its kind; of a step, of the sums.
    operands : of a step, the tiles of A and B.
    alternates : whether the iterations of the loop around alternate between two versions.
    sums_up : of a step, whether it adds all to the first block.
    halved : of a load, whether it is marked to be used in halves.
    ends : of a load or a store, whether steps at the ends come in another order for it.
    """

    kind: str
    tile: int
    first: int
    end: int
    operands: tuple[int, int]
    alternates: bool
    sums_up: bool = False
    halved: bool = False
    ends: bool = False


@dataclass(frozen=True)
class Around:
    """A loop around statements."""

    times: int
    body: tuple[Any, ...]


@dataclass(frozen=True)
class When:
    """Statements in the first ``below`` iterations only of the loop around, or, ``up`` 1, of the
    loop around that."""

    up: int
    below: int
    body: tuple[Any, ...]


NUMBERS = st.integers(0, BLOCKS - 1)
TILE = st.integers(0, TILES - 1)


def leaves(*kinds: str) -> st.SearchStrategy[tuple[Leaf]]:
    """One statement of these kinds."""
    return st.builds(
        lambda kind, tile, ends, operands, *flags: (
            Leaf(kind, tile, min(ends), max(ends) + 1, operands, *flags),
        ),
        st.sampled_from(kinds),
        TILE,
        st.tuples(NUMBERS, NUMBERS),
        st.tuples(TILE, TILE),
        *[st.booleans()] * 4,
    )


def functions(one: st.SearchStrategy[tuple[Leaf, ...]]) -> st.SearchStrategy[list[Leaf | Around]]:
    """Some statements, and loops around others."""

    def together(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        return tuple(stmt for part in parts for stmt in part)

    # Two statements at least: a perfect nest around a load is one copy, whose iterations may come
    # in another order, and so have to touch rows of their own.
    bodies = st.lists(one, min_size=2, max_size=6) | st.lists(PRODUCTS, min_size=1, max_size=2)
    loops = st.builds(
        lambda times, body: (Around(times, together(body)),), st.integers(2, 7), bodies
    )
    nested = st.builds(
        lambda times, body: (Around(times, together(body)),),
        st.integers(2, 4),
        st.lists(one | loops, min_size=1, max_size=4),
    )
    return st.lists(one | loops | nested, min_size=1, max_size=6).map(
        lambda parts: list(together(parts))
    )


# Steps that add to zeros of their own, which they may overwrite.
PRODUCTS = leaves("step").map(
    lambda one: (replace(one[0], kind="zeros", halved=False, ends=False, sums_up=False), *one)
)
KINDS = ("a", "b", "bias", "step", "step", "step", "store")
FUNCTIONS = functions(leaves(*KINDS, "zeros"))
# Some under conditions on the loops around.
CONDITIONAL = functions(
    leaves(*KINDS, "zeros")
    | st.builds(
        lambda up, below, *parts: (When(up, below, tuple(x for part in parts for x in part)),),
        st.integers(0, 1),
        st.integers(0, 3),
        leaves(*KINDS, "zeros"),
        leaves(*KINDS, "zeros"),
    )
)
# Where no other statement sets sums to zero.
OF_PRODUCTS = functions(leaves("a", "b", "a", "b", "bias", "store") | PRODUCTS)


class Writer:
    """Writes statements as a function. What is loaded and stored has a place of its own each."""

    def __init__(self, statements: list[Leaf | Around]) -> None:
        self.places = 0
        self.n_places = sum(count(stmt) for stmt in statements)
        with IRBuilder() as builder:
            with T.prim_func(s_tir=True):
                T.func_name("statements")
                shape = (self.n_places + 1, BLOCKS, SIDE, SIDE)
                self.x = T.arg("x", T.Buffer(shape, "int8"))
                self.w = T.arg("w", T.Buffer((self.n_places + 1, BLOCKS, SIDE), "int32"))
                self.out = T.arg("out", T.Buffer(shape, "int32"))
                self.tiles = {
                    kind: [
                        T.alloc_buffer((2, BLOCKS, SIDE, SIDE), dtype, scope=scope)
                        for _ in range(TILES)
                    ]
                    for kind, dtype, scope in (
                        ("a", "int8", SCRATCHPAD),
                        ("b", "int8", SCRATCHPAD),
                        ("acc", "int32", ACCUMULATOR),
                    )
                }
                for kind, tiles in self.tiles.items():
                    for index, tile in enumerate(tiles):
                        IRBuilder.name(f"{kind}{index}", tile)
                for stmt in statements:
                    self.write(stmt, (), 0, 1)
        self.func: tirx.PrimFunc = builder.get()

    def write(self, stmt: Leaf | Around | When, around: tuple, index: Any, times: int) -> None:
        """``around`` are the variables of loops, outermost first; ``index`` counts iterations."""
        if isinstance(stmt, Around):
            with T.serial(stmt.times) as inner:
                for part in stmt.body:
                    more = index * stmt.times + inner, times * stmt.times
                    self.write(part, (*around, inner), *more)
            return
        if isinstance(stmt, When):
            holds = around[-1 - stmt.up] < stmt.below if len(around) > stmt.up else stmt.below > 0
            with T.If(holds), T.Then():
                for part in stmt.body:
                    self.write(part, around, index, times)
            return
        time = around[-1] if around else None
        place = index + self.places
        self.places += times
        version = time % 2 if stmt.alternates and time is not None else 0
        extent = stmt.end - stmt.first
        sums = self.tiles["acc"][stmt.tile]
        if stmt.kind == "step":
            a, b = self.tiles["a"][stmt.operands[0]], self.tiles["b"][stmt.operands[1]]
            with T.serial(extent) as n:
                at = n + stmt.first
                to = stmt.first if stmt.sums_up else at
                rows = [T.address_of(tile[version, at, 0, 0]) for tile in (a, b)]
                rows.append(T.address_of(sums[version, to, 0, 0]))
                T.evaluate(T.call_extern("int32", GEMM_CALL, *rows, SIDE, 1))
            return
        marks = {HALVED: 1} if stmt.halved and stmt.kind in "ab" else {}
        marks |= {ENDS: 1} if stmt.ends else {}
        with T.serial(extent, annotations=marks or None) as n, T.grid(SIDE, SIDE) as (r, c):
            at = n + stmt.first
            if stmt.kind == "store":
                value = sums[version, at, r, c]
                T.buffer_store(self.out, value, [place, at, r, c])
            elif stmt.kind == "zeros":
                T.buffer_store(sums, 0, [version, at, r, c])
            elif stmt.kind == "bias":
                T.buffer_store(sums, self.w[place, at, c], [version, at, r, c])
            else:
                tile = self.tiles[stmt.kind][stmt.tile]
                T.buffer_store(tile, self.x[place, at, r, c], [version, at, r, c])


def count(stmt: Leaf | Around | When) -> int:
    """How often nests of a statement are run."""
    if isinstance(stmt, Leaf):
        return 1
    return (stmt.times if isinstance(stmt, Around) else 1) * sum(map(count, stmt.body))


def everywhere(*kinds: str) -> Around:
    """Nests over all of each tile, both its versions."""
    nests = [Leaf(kind, tile, 0, BLOCKS, (0, 0), True) for kind in kinds for tile in range(TILES)]
    return Around(2, tuple(nests))


def check(statements: list[Leaf | Around], sums: str = "zeros") -> Program:
    """Statements between some that write all tiles, the ``sums`` by such a kind, and stores."""
    func = Writer([everywhere("a", "b", sums), *statements, everywhere("store")]).func
    check_rows(func, CONFIG)
    return build_program(func, CONFIG, "statements")


def nest(kind: str, end: int, *, alternates: bool = True) -> Leaf:
    """Over the first blocks of the first tile."""
    return Leaf(kind, 0, 0, end, (0, 0), alternates)


@pytest.mark.parametrize("kinds", [("a", "step"), ("a", "step", "store")])
def test_a_loop_of_loops_needs_one_iteration_of_its_own(kinds: tuple[str, ...]) -> None:
    """Its first one, which other statements precede: what that leaves open all others do."""
    inner = Around(6, tuple(nest(kind, 2) for kind in kinds))
    program = check([Around(9, (inner,))])
    assert 8 in [node.extent.value for node in program.body if isinstance(node, Loop)]


def test_parts_of_copies_that_steps_before_a_loop_decide_are_not_those_of_its_iterations() -> None:
    """The rest of the first load is what the steps before the loop leave of it, which are of fewer
    blocks than those that precede the other iterations."""
    before = [nest(kind, 1, alternates=False) for kind in ("a", "step")]
    inner = [nest(kind, 2, alternates=False) for kind in ("a", "step")]
    check([*before, Around(4, tuple(inner))])


@pytest.mark.parametrize("times", [1, 2, 5, 7])
@pytest.mark.parametrize("below", [0, 1, 2])
@pytest.mark.parametrize("up", [0, 1])
def test_steps_under_a_condition(up: int, below: int, times: int) -> None:
    """Where it does not hold, those before them are still open."""
    before, inner, behind = (Leaf("step", 0, first, 3, (0, 0), False) for first in (0, 1, 2))
    loop = Around(times if up else 3, (When(up, below, (inner,)),))
    load = Leaf("b", 0, 0, 3, (0, 0), False)
    for parts in ((before, loop), (load, before, loop, behind), (loop, behind, load)):
        check([Around(3 if up else 6, parts), behind])
        check([Around(2, (Around(2, parts), before)), behind])


@pytest.mark.parametrize(("kinds", "what"), [(("step",), "steps"), (("a", "b"), "several")])
def test_a_condition_on_a_loop_that_stays_one(kinds: tuple[str, ...], what: str) -> None:
    statements = tuple(Leaf(kind, 0, 0, 3, (0, 0), False) for kind in kinds)
    steps = Leaf("step", 0, 0, 3, (0, 0), False)
    message = rf"{what} \w*\s?are done only where `v < 1`, in some iterations of a loop that"
    with pytest.raises(CodegenError, match=message):
        check([Around(6, (Around(5, (When(1, 1, statements),)), steps))])


@pytest.mark.parametrize("times", [4, 5, 7])
def test_steps_hand_on_what_waits_before_their_loop(times: int) -> None:
    """Steps overwrite the sums, so that nothing is between those of one iteration and the next: the
    loads before the loop, for steps behind it, are shared out among some of them."""
    loads = [Leaf(kind, 1, 0, BLOCKS, (0, 0), False) for kind in ("a", "b")]
    inner = [nest(kind, 3, alternates=False) for kind in ("zeros", "step")]
    others = [Leaf(kind, 1, 0, 3, (1, 1), False) for kind in ("zeros", "step", "store")]
    whole = [*loads, Around(times, tuple(inner)), nest("store", 3, alternates=False), *others]
    check(whole, "bias")
    check([Around(6, tuple(whole))], "bias")


@pytest.mark.long
@given(FUNCTIONS)
@settings(max_examples=60)
def test_every_row_sees_statements_in_their_order(statements: list[Leaf | Around]) -> None:
    check(statements)


@pytest.mark.long
@given(OF_PRODUCTS)
@settings(max_examples=40)
def test_every_row_sees_products_in_their_order(statements: list[Leaf | Around]) -> None:
    check(statements, "bias")


@pytest.mark.long
@given(CONDITIONAL)
@settings(max_examples=40)
def test_every_row_sees_statements_under_conditions(statements: list[Leaf | Around | When]) -> None:
    try:
        check(statements)
    except CodegenError:
        reject()


@pytest.mark.slow
@given(FUNCTIONS)
@settings(max_examples=3000)
def test_every_row_sees_many_statements_in_their_order(statements: list[Leaf | Around]) -> None:
    check(statements)


@pytest.mark.slow
@given(OF_PRODUCTS)
@settings(max_examples=3000)
def test_every_row_sees_many_products_in_their_order(statements: list[Leaf | Around]) -> None:
    check(statements, "bias")
