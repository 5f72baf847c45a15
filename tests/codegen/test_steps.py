"""How the rows of a run are cut into steps, and what the device computes with them."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen_steps import ArrayStep, array_steps, step_sizes
from npu_target.isa import ComputeAccumulated, ComputePreloaded, Preload, decode
from npu_target.passes.linear import Linear
from npu_target.passes.transfers import LoopExtent
from npu_target.program import Loop

DIM = 16


def run_of(step: ArrayStep, loops: tuple[LoopExtent, ...]) -> list[tuple]:
    """The commands of the steps in order, as ``(weights, a row, c row, rows)``."""
    ids = itertools.count(100)
    flat: list = []

    def walk(nodes, values):
        for node in nodes:
            if isinstance(node, Loop):
                for value in range(node.extent.value):
                    walk(node.body, {**values, node.loop_id: value})
            else:
                words = [
                    word.base + sum(step * values[loop] for loop, step in word.steps)
                    for word in (node.rs1, node.rs2)
                ]
                flat.append(decode(node.funct, *words))

    walk(array_steps(step, loops, DIM, lambda: next(ids)), {})
    pairs = []
    for preload, compute in zip(flat[::2], flat[1::2], strict=True):
        assert isinstance(preload, Preload)
        assert isinstance(compute, (ComputePreloaded, ComputeAccumulated))
        new = isinstance(compute, ComputePreloaded)
        assert preload.c_rows == compute.a_rows
        weights = preload.bd.row if new else None
        pairs.append((weights, compute.a.row, preload.c.row, compute.a_rows))
    return pairs


@given(st.integers(DIM + 1, 2000))
def test_sizes_cover_the_rows_with_as_few_steps_as_can_be(rows):
    sizes = step_sizes(rows, DIM)
    assert sum(size * times for size, times in sizes) == rows
    assert all(1 <= size <= DIM and times >= 1 for size, times in sizes)
    assert sum(times for _, times in sizes) == -(-rows // DIM)
    assert sizes[-1][0] == DIM, "the step that overlaps with the next weights is a full one"


@given(
    st.integers(1, DIM),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 5),
    st.integers(1, 3),
)
def test_every_row_meets_every_weight_once(rows, steps, lines, blocks, gap, row_step):
    pitch = (rows * steps + gap) * row_step
    a = Linear.of(7, {1: pitch, 2: rows * row_step})
    c = Linear.of(3, {0: 500, 1: rows * steps, 2: rows})
    b = Linear.of(1000, {0: DIM})
    loops = (LoopExtent(0, blocks), LoopExtent(1, lines), LoopExtent(2, steps))
    found, weights = [], None
    for new, a_row, c_row, n_rows in run_of(ArrayStep(a, b, c, rows, row_step), loops):
        weights = weights if new is None else new
        found += [(weights, a_row + i * row_step, c_row + i) for i in range(n_rows)]
    wanted = [
        (1000 + DIM * o, 7 + y * pitch + p * row_step, 3 + 500 * o + y * rows * steps + p)
        for o in range(blocks)
        for y in range(lines)
        for p in range(rows * steps)
    ]
    assert found == wanted


def test_lines_without_a_gap_are_one_run():
    a, c = Linear.of(0, {1: 7}), Linear.of(0, {1: 7})
    pairs = run_of(ArrayStep(a, Linear(64), c, 7, 1), (LoopExtent(1, 7),))
    assert [rows for _, _, _, rows in pairs] == [11, 11, 11, 16]
    assert [weights for weights, _, _, _ in pairs] == [64, None, None, None]
