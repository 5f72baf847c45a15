"""Copies one by one, and in loops again."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import expand

from npu_target import isa
from npu_target.codegen_copies import SingleCopies, rolled
from npu_target.config import NpuConfig
from npu_target.operand import Operand
from npu_target.program import Command, Loop, Node, Program, const, nodes_of
from npu_target.program_rows import NotConstant, RowSettings

CONFIG = NpuConfig.preset("gemmini-8x8")
SETTINGS = RowSettings([16, 16, 16], a_stride=1)


def run(nodes: tuple[Node, ...]) -> list[tuple[int, int, int]]:
    return expand(Program("p", CONFIG, (), nodes), {})


def load(address: int, row: int, rows: int = 4, cols: int = 8) -> Command:
    words = isa.Mvin(address, isa.LocalAddress(row), cols=cols, rows=rows).encode()
    return Command(words[0], Operand.of(words[1]), Operand.of(words[2]))


COPIES = st.lists(
    st.builds(load, st.integers(0, 5).map(lambda i: 8 * i), st.integers(0, 9), st.integers(3, 4))
)


@given(COPIES)
def test_rolled_copies_are_the_same(copies: list[Command]) -> None:
    nodes = rolled(copies, count().__next__)
    assert run(nodes) == run(tuple(copies))


def test_neighbours_become_one_loop() -> None:
    (node,) = rolled([load(64 * i, 4 * i) for i in range(9)], count().__next__)
    assert isinstance(node, Loop) and node.extent == const(9)


@given(COPIES)
def test_copies_come_one_by_one(copies: list[Command]) -> None:
    nodes = rolled(copies, count().__next__)
    single = SingleCopies.of(nodes, SETTINGS, CONFIG)
    assert run(tuple(single.commands)) == run(nodes)
    assert not any(isinstance(node, Loop) for node in nodes_of(single.commands))
    rows = [isa.decode(*words).local.row for words in run(nodes)]  # type: ignore[attr-defined]
    assert [int(found[0]) for found in single.rows] == rows


def test_those_before_on_the_same_rows_are_known() -> None:
    copies = [load(0, 0), load(64, 8), load(128, 3, cols=16), load(192, 17)]
    single = SingleCopies.of(copies, SETTINGS, CONFIG)
    owner, before = single.owners(CONFIG.spad_rows + CONFIG.acc_rows)
    assert before == [set(), set(), {0}, {2}]
    assert owner[[0, 3, 8, 12, 17, 19, 22, 23]].tolist() == [0, 2, 1, -1, 3, 3, 2, -1]


def test_settings_among_copies_are_refused() -> None:
    words = isa.ConfigLd(0, 16).encode()
    setting = Command(words[0], Operand.of(words[1]), Operand.of(words[2]))
    with pytest.raises(NotConstant):
        SingleCopies.of([load(0, 0), setting], SETTINGS, CONFIG)
