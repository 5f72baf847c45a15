"""Array steps as positions on a line."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import expand
from row_histories import row_histories

from npu_target import isa
from npu_target.config import NpuConfig
from npu_target.program import Command, Loop, Node, Operand, Program, const, minimum, var
from npu_target.program import device_command as command
from npu_target.program_rows import NotConstant, RowSettings
from npu_target.step_space import StepSpace

CONFIG = NpuConfig.preset("gemmini-8x8")
SETTINGS = RowSettings([8, 8, 8], a_stride=2)


def step(a: Operand, b: Operand, c: Operand) -> tuple[Command, ...]:
    spad, sums = isa.LocalAddress(0), isa.LocalAddress(0, accumulator=True, accumulate=True)
    sizes = {"bd_cols": 8, "bd_rows": 8}
    return (
        command(isa.Preload, bd=(spad, b), **sizes, c=(sums, c), c_cols=8, c_rows=5),
        command(isa.ComputePreloaded, a=(spad, a), a_cols=8, a_rows=5, bd=isa.GARBAGE, **sizes),
    )


@st.composite
def nests(draw: st.DrawFn) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for first in range(0, 3 * draw(st.integers(1, 2)), 3):
        ids = range(first, first + draw(st.integers(0, 3)))

        def operand(ids: range = ids) -> Operand:
            steps = [(loop_id, draw(st.integers(0, 24))) for loop_id in ids]
            return Operand.of(*(Operand.of(var(loop_id)) * by for loop_id, by in steps))

        body: tuple[Node, ...] = step(operand(), operand(), operand())
        for loop_id in reversed(ids):
            body = (Loop(loop_id, const(draw(st.integers(1, 4))), body),)
        nodes += body
    return tuple(nodes)


def run(nodes: tuple[Node, ...]) -> list[tuple[int, int, int]]:
    return expand(Program("p", CONFIG, (), nodes), {})


@given(nests(), st.data())
def test_pieces_are_the_whole(nodes: tuple[Node, ...], data: st.DataObject) -> None:
    space = StepSpace(nodes, SETTINGS, CONFIG)
    cuts = data.draw(st.lists(st.integers(0, space.positions), max_size=4).map(sorted))
    ends = [0, *cuts, space.positions]
    pieces = [space.cut(first, end) for first, end in pairwise(ends)]
    assert [words for piece in pieces for words in run(piece)] == run(nodes)


@given(nests())
def test_first_and_last_touch(nodes: tuple[Node, ...]) -> None:
    space = StepSpace(nodes, SETTINGS, CONFIG)
    config_ex = isa.ConfigEx(weight_stationary=True, a_stride=2).encode()
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position in range(space.positions):
        stream = [config_ex, *run(space.cut(position, position + 1))]
        for is_acc, row in row_histories(stream, CONFIG):
            key = row + CONFIG.spad_rows * is_acc
            first.setdefault(key, position)
            last[key] = position
    for wanted, is_last in ((first, False), (last, True)):
        found: dict[int, int] = {}
        choose = max if is_last else min
        for rows, positions in space.touched(last=is_last):
            for row, position in zip(rows.tolist(), positions.tolist(), strict=True):
                found[row] = choose(position, found.get(row, position))
        assert found == wanted


def test_cycles_are_the_rows() -> None:
    body = step(Operand(), Operand(), Operand())
    space = StepSpace((Loop(0, const(6), body),), SETTINGS, CONFIG)
    assert (space.positions, space.cycles) == (6, 30)
    assert space.cycles_before([0, 2, 6]) == [0, 10, 30]
    assert space.positions_at([0, 9.9, 10, 99]) == [0, 1, 2, 6]


def test_what_runs_is_refused() -> None:
    body = step(Operand(), Operand(), Operand())
    with pytest.raises(NotConstant):
        StepSpace((Loop(0, minimum(var(1), 3), body),), SETTINGS, CONFIG)
    outer = step(Operand.of(var(9)), Operand(), Operand())
    space = StepSpace((Loop(0, const(2), outer),), SETTINGS, CONFIG)
    with pytest.raises(NotConstant):
        np.concatenate([rows for rows, _ in space.touched(last=False)])


def test_a_preload_stays_with_its_compute() -> None:
    steps = (*step(Operand(), Operand(), Operand()), *step(Operand(), Operand(), Operand()))
    space = StepSpace(steps, SETTINGS, CONFIG)
    assert space.positions == 2
    assert space.cut(0, 1) == steps[:2]
    for nodes in (steps[:3], (steps[0], Loop(0, const(2), steps[:2]))):
        with pytest.raises(NotConstant):
            StepSpace(nodes, SETTINGS, CONFIG)
