"""Steps on rows of sums beside the one that multiplies: hand-written functions."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_runs import run_program
from tvm.script import tirx as T
from vector_unit.device import CONFIG, FILL, MAXIMUM
from vector_unit.installed import vector_unit

from npu_target.codegen_tir import CodegenError, build_program

__all__ = ["vector_unit"]

pytestmark = pytest.mark.usefixtures("vector_unit")
D = CONFIG.dim
SUMS = CONFIG.memories.sums.scope
TILES, ROWS = 3, 5
SHAPE = (TILES, ROWS, D)


def greatest(begin: str):
    """The greater of x and y, row by row, over what the tile begins with: "zeros" that are loaded,
    "fill" by a step, or "nothing"."""
    is_loaded, is_filled = begin == "zeros", begin == "fill"

    @T.prim_func(s_tir=True)
    def function(
        x: T.Buffer(SHAPE, "int32"), y: T.Buffer(SHAPE, "int32"), out: T.Buffer(SHAPE, "int32")
    ) -> None:
        a = T.alloc_buffer((2, TILES, ROWS, D), "int32", scope=SUMS)
        c = T.alloc_buffer(SHAPE, "int32", scope=SUMS)
        for n, r, k in T.grid(TILES, ROWS, D):
            a[0, n, r, k] = x[n, r, k]
        for n, r, k in T.grid(TILES, ROWS, D):
            a[1, n, r, k] = y[n, r, k]
        if is_loaded:
            for n, r, k in T.grid(TILES, ROWS, D):
                c[n, r, k] = 0
        if is_filled:
            for n, r in T.grid(TILES, ROWS):
                T.evaluate(T.call_extern("int32", FILL, T.address_of(c[n, r, 0]), 1, -1000))
        for i, n, r in T.grid(2, TILES, ROWS):
            T.evaluate(
                T.call_extern(
                    "int32", MAXIMUM, T.address_of(c[n, r, 0]), T.address_of(a[i, n, r, 0]), 1
                )
            )
        for n, r, k in T.grid(TILES, ROWS, D):
            out[n, r, k] = c[n, r, k]

    return function


@pytest.mark.parametrize(("begin", "least"), [("zeros", 0), ("fill", -1000)])
def test_what_was_there_counts(begin, least):
    """Zeros before a step that does not add are no start of a sum: they have to be written."""
    generator = np.random.default_rng(0)
    x, y = generator.integers(-2000, 2000, (2, *SHAPE), np.int32)
    program = build_program(greatest(begin), CONFIG, "greatest")
    np.testing.assert_array_equal(run_program(program, [x, y]), np.maximum(np.maximum(x, y), least))


def test_what_a_step_changes_has_to_be_there():
    with pytest.raises(CodegenError, match="rows of tile c are read that nothing writes"):
        build_program(greatest("nothing"), CONFIG, "greatest")


def test_steps_of_rows_that_follow_each_other_are_one():
    text = build_program(greatest("fill"), CONFIG, "greatest").text
    assert text.count("fill  rows=15") == 1
    assert text.count("maximum  rows=15") == text.count("maximum") == 2  # of x, of y
