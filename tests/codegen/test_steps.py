"""How the rows of a run are cut into steps, and what the device computes with them."""

from __future__ import annotations

import numpy as np
from codegen_streams import Step, steps_and_copies
from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.operations import LoopIds
from npu_target.codegen.placed import emitted
from npu_target.codegen.placement import Placer
from npu_target.codegen.report import NoReport
from npu_target.codegen.steps import BlockRows, Run, Steps
from npu_target.codegen.steps import Step as DeviceStep
from npu_target.device import preset
from npu_target.devices.gemmini.gemm import Gemm
from npu_target.passes.linear import Linear

CONFIG = preset("gemmini-16x16")
DIM = CONFIG.dim


def device_step(a: Linear, b: Linear, c: Linear, rows: int, row_step: int) -> DeviceStep:
    gemm = Gemm(CONFIG)
    return DeviceStep(gemm, gemm.operands(rows, row_step), (a, b, c))


def run_of(steps: Steps, ids: LoopIds) -> list[Step]:
    placer = Placer(steps, [], {}, ids, NoReport())
    found = steps_and_copies(emitted(placer.place([], [], [])), CONFIG)
    assert all(isinstance(step, Step) for step in found)
    return found


@given(
    rows=st.integers(1, DIM),
    steps=st.integers(1, 8),
    lines=st.integers(1, 4),
    depth=st.integers(1, 3),
    blocks=st.integers(1, 3),
    gap=st.integers(0, 5),
    row_step=st.integers(1, 3),
    overwrites=st.booleans(),
    split=st.none() | st.tuples(st.integers(0, 3), st.integers(2, 4)),
)
def test_every_row_meets_every_weight_once(
    rows, steps, lines, depth, blocks, gap, row_step, overwrites, split
):
    """Blocks of sums, parts of their reduction, lines of an image with a gap, steps of a line."""
    ids = LoopIds()
    o, k, y, p = loops = [ids.loop(extent) for extent in (blocks, depth, lines, steps)]
    line_rows = (rows * steps + gap) * row_step
    a = Linear.of(7, {k.loop_id: 400, y.loop_id: line_rows, p.loop_id: rows * row_step})
    c = Linear.of(3, {o.loop_id: 500, y.loop_id: rows * steps, p.loop_id: rows})
    b = Linear.of(1000, {o.loop_id: DIM * depth, k.loop_id: DIM})
    made = Steps(device_step(a, b, c, rows, row_step), tuple(loops), overwrites)
    if split and split[0] < len(made.loops) and made.loops[split[0]].extent % split[1] == 0:
        made = made.split(*split, ids)
    found, weights = [], None
    for step in run_of(made, ids):
        weights = weights if step.weights is None else step.weights
        found += [
            (weights, step.a + i * row_step, step.c + i, step.overwrites) for i in range(step.rows)
        ]
    wanted = [
        (
            1000 + DIM * (n * depth + d),
            7 + 400 * d + line * line_rows + row * row_step,
            3 + 500 * n + line * rows * steps + row,
            overwrites and d == 0,
        )
        for n in range(blocks)
        for d in range(depth)
        for line in range(lines)
        for row in range(rows * steps)
    ]
    assert found == wanted


def test_lines_without_a_gap_are_one_run():
    ids = LoopIds()
    loop = ids.loop(7)
    rows = Linear.of(0, {loop.loop_id: 7})
    steps = Steps(device_step(rows, Linear(64), rows, 7, 1), (loop,), False)
    assert steps.runs == [Run(0, 11, 1), Run(11, 11, 2), Run(33, 16, 1)]
    found = run_of(steps, ids)
    assert [step.rows for step in found] == [11, 11, 11, 16]
    assert [step.weights for step in found] == [64, None, None, None]


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    st.lists(st.integers(0, 40), min_size=9, max_size=9),
    st.integers(1, DIM),
    st.integers(1, 2),
)
def test_touched_rows_are_those_of_each_block(extents, factors, rows, row_step):
    ids = LoopIds()
    loops = tuple(ids.loop(extent) for extent in extents)
    around = 99  # a loop that is not the nest's
    a, b, c = (
        Linear.of(5, {around: 11, **{x.loop_id: f for x, f in zip(loops, part, strict=True)}})
        for part in (factors[:3], factors[3:6], factors[6:])
    )
    steps = Steps(device_step(a, b, c, rows, row_step), loops, False)
    touched = steps.touched()
    assert touched is not None
    assert all(form.items == ((around, 11),) for form, _ in touched)
    a_rows, b_rows, c_rows = (of_blocks.of_blocks() + form.const for form, of_blocks in touched)
    seen: list[tuple[set[int], set[int], set[int]]] = []
    weights = None
    per_block = sum(run.times for run in steps.runs)
    a, b, c = (form.without(around) for form in (a, b, c))
    alone = Steps(device_step(a, b, c, rows, row_step), loops, False)
    for index, step in enumerate(run_of(alone, ids)):
        weights = weights if step.weights is None else step.weights
        if index % per_block == 0:
            seen.append((set(), set(range(weights, weights + DIM)), set()))
        seen[-1][0].update(step.a + i * row_step for i in range(step.rows))
        seen[-1][2].update(range(step.c, step.c + step.rows))
    assert [tuple(map(set, x)) for x in zip(a_rows, b_rows, c_rows, strict=True)] == seen


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-7, 9)), max_size=3),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_the_first_and_the_last_block_that_touch_a_row(
    loops: list[tuple[int, int]], rows: int, row_step: int
) -> None:
    extents, along = tuple(extent for extent, _ in loops), tuple(step for _, step in loops)
    of = BlockRows(extents, along, rows, row_step)
    touched = [set(block) for block in of.of_blocks().tolist()]
    asked = list(range(-60, 80))
    for first, none in ((True, len(touched)), (False, -1)):
        found = of.blocks(np.array([asked]), first=first)
        assert found.shape == (1, len(asked))
        for row, block in zip(asked, found[0].tolist(), strict=True):
            among = [number for number, its in enumerate(touched) if row in its]
            assert block == (none if not among else among[0 if first else -1])
