"""Parts of programs: nodes at some iteration of the loops around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import expand
from program_strategies import bodies

from npu_target.config import NpuConfig
from npu_target.program import Arg, Loop, Node, Program, const
from npu_target.program_edit import moved

CONFIG = NpuConfig.preset("gemmini-8x8")
ARGS = (Arg("x", "input", "int8", (4,)),)
ID = 3  # none of those that the strategies take
BODIES = bodies((ID,), 1, 2)


def run(nodes: tuple[Node, ...]) -> list[tuple[int, int, int]]:
    return expand(Program("p", CONFIG, ARGS, nodes), {"x": 0x8000_0000})


@given(BODIES, st.integers(1, 4))
def test_iterations_one_by_one_are_the_loop(body: tuple[Node, ...], extent: int) -> None:
    apart = [node for index in range(extent) for node in moved(body, {ID: index})]
    assert run(tuple(apart)) == run((Loop(ID, const(extent), body),))


@given(BODIES, st.integers(1, 4), st.integers(0, 3))
def test_a_loop_that_starts_later(body: tuple[Node, ...], extent: int, start: int) -> None:
    later = Loop(ID, const(extent), moved(body, {ID: start}, {ID}))
    apart = [node for index in range(extent) for node in moved(body, {ID: start + index})]
    assert run((later,)) == run(tuple(apart))
