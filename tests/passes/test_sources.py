"""Which copies are taken apart, and into what."""

from __future__ import annotations

import tvm_ffi
from tvm.script import tirx as T

from npu_target.passes.sources import separate_sources


@T.prim_func(s_tir=True)
def both(a: T.Buffer((40,), "int8"), b: T.Buffer((40,), "int8")):
    tile = T.alloc_buffer((2, 48), "int8", scope="global.scratchpad")
    for i in T.serial(2, annotations={"mark": 1}):
        for r in range(48):
            tile[i, r] = T.if_then_else(
                i == 0, T.if_then_else(r < 40, a[r], T.int8(0)), b[T.min(r, 39)]
            )


@T.prim_func(s_tir=True)
def apart(a: T.Buffer((40,), "int8"), b: T.Buffer((40,), "int8")):
    tile = T.alloc_buffer((2, 48), "int8", scope="global.scratchpad")
    for r in T.serial(48, annotations={"mark": 1}):
        tile[0, r] = T.if_then_else(r < 40, a[r], T.int8(0))
    for r in T.serial(48, annotations={"mark": 1}):
        tile[1, r] = b[T.min(r, 39)]


@T.prim_func(s_tir=True)
def three(a: T.Buffer((40,), "int8"), b: T.Buffer((40,), "int8")):
    tile = T.alloc_buffer((5, 40), "int8", scope="global.scratchpad")
    for i in range(5):
        for r in range(40):
            tile[i, r] = T.if_then_else(
                i > 3,
                T.int8(7),
                T.if_then_else(i < 1, a[r], T.if_then_else(r < 9, b[r], T.int8(7))),
            )


@T.prim_func(s_tir=True)
def one_after_the_other(a: T.Buffer((40,), "int8"), b: T.Buffer((40,), "int8")):
    tile = T.alloc_buffer((5, 40), "int8", scope="global.scratchpad")
    for r in range(40):
        tile[0, r] = a[r]
    for i in range(3):
        for r in range(40):
            tile[i + 1, r] = T.if_then_else(r < 9, b[r], T.int8(7))
    for r in range(40):
        tile[4, r] = T.int8(7)


@T.prim_func(s_tir=True)
def padded(a: T.Buffer((40,), "int8")):
    tile = T.alloc_buffer((2, 48), "int8", scope="global.scratchpad")
    for i in range(2):
        for r in range(48):
            tile[i, r] = T.if_then_else(i == 0, a[T.min(r, 39)], T.int8(0))


@T.prim_func(s_tir=True)
def by_two_loops(a: T.Buffer((40,), "int8"), b: T.Buffer((40,), "int8")):
    tile = T.alloc_buffer((2, 20), "int8", scope="global.scratchpad")
    for i in range(2):
        for r in range(20):
            tile[i, r] = T.if_then_else(i + r < 5, a[r], b[r])


def test_a_choice_between_arguments_is_a_copy_of_each() -> None:
    assert separate_sources(both).script() == apart.script().replace("apart", "both")


def test_a_choice_among_three_is_a_copy_of_each() -> None:
    wanted = one_after_the_other.script().replace("one_after_the_other", "three")
    assert separate_sources(three).script() == wanted


def test_padding_stays() -> None:
    assert tvm_ffi.structural_equal(separate_sources(padded), padded)


def test_a_choice_that_two_loops_make_stays() -> None:
    assert tvm_ffi.structural_equal(separate_sources(by_two_loops), by_two_loops)
