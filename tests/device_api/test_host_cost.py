"""The host's instructions, as the device library and as an interpreter in Python count them."""

from __future__ import annotations

from dataclasses import replace

from host_interpreter import HostInterpreter
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from program_strategies import bodies

from npu_target.device import preset
from npu_target.device_api import HostCost, host_cost
from npu_target.devices.gemmini import GemminiConfig
from npu_target.program import (
    Arg,
    Command,
    Loop,
    Node,
    Operand,
    Program,
    const,
    logical_and,
    logical_not,
    lt,
    nodes_of,
    var,
)

CONFIG = preset("gemmini-16x16")
# Cycles are instructions, and all registers there can be.
COUNTING = CONFIG.replace(host_icache_miss_cycles=0, host_branch_miss_cycles=0, host_registers=64)
ARGS = (Arg("x", "input", "int8", (64,)), Arg("y", "output", "int8", (64,)))
# Two addresses by two instructions each, the call, the return.
CALL = 6


def cost(*body: Node, config: GemminiConfig = CONFIG) -> HostCost:
    return host_cost(Program("k", config, ARGS, body).to_bytes())


def plain(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Without general expressions in operands, and every node an object of its own."""
    return tuple(
        Loop(node.loop_id, node.extent, plain(node.body))
        if isinstance(node, Loop)
        else Command(
            node.funct,
            Operand(node.rs1.base, node.rs1.address, node.rs1.steps),
            Operand(node.rs2.base, node.rs2.address, node.rs2.steps),
        )
        for node in nodes
        if isinstance(node, (Loop, Command))
    )


# Small numbers, so that operands meet. Where loops are long, registers end at a number that one
# instruction makes, which is what the interpreter takes them for.
SMALL_STEPS = st.sampled_from([0, 0, 1, 2, 8, 64])
SMALL_STEPS_OF_LONG = st.sampled_from([0, 0, 1, 2, 8, 16])


@st.composite
def nests(
    draw: st.DrawFn, loop_ids: tuple[int, ...] = (), depth: int = 4, *, are_long: bool = False
) -> tuple[Node, ...]:
    """Loops in loops; where these ``are_long``, none has a condition."""
    small_steps = SMALL_STEPS_OF_LONG if are_long else SMALL_STEPS
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            loop_id = len(loop_ids)
            extent = const(draw(st.sampled_from([1, 2, 3, 30]) if are_long else st.integers(0, 4)))
            if loop_ids and not are_long and draw(st.integers(0, 4)) == 0:
                first = lt(var(0), const(2))
                conditions = [first, logical_not(first), logical_and(first, lt(const(0), var(0)))]
                extent = draw(st.sampled_from([var(0), 3 - var(0), *conditions]))
            inner = draw(nests((*loop_ids, loop_id), depth - 1, are_long=are_long))
            nodes.append(Loop(loop_id, extent, inner))
        else:
            words = []
            for _ in range(2):
                steps = tuple((i, by) for i in loop_ids if (by := draw(small_steps)))
                words.append(Operand(draw(st.integers(0, 3)) * 8, None, steps))
            nodes.append(Command(2, *words))
    return tuple(nodes)


@st.composite
def loops_beside_each_other(draw: st.DrawFn) -> tuple[Node, ...]:
    """In a loop, some of them long."""
    inner = []
    for _ in range(draw(st.integers(2, 3))):
        inner += draw(nests((0,), 0, are_long=True))
        extent = const(draw(st.sampled_from([2, 40, 80])))
        inner.append(Loop(1, extent, draw(nests((0, 1), 1, are_long=True))))
    return (Loop(0, const(draw(st.integers(1, 3))), tuple(inner)),)


def check(body: tuple[Node, ...]) -> None:
    assume(2 * sum(1 for _ in nodes_of(body)) <= COUNTING.host_registers)
    counted = cost(*body, config=COUNTING)
    interpreted = HostInterpreter(Program("k", COUNTING, ARGS, body))
    assume(not interpreted.has_sections or not interpreted.has_expressions)
    assert counted.instructions - counted.once_cycles == interpreted.instructions


@given(nests())
@settings(max_examples=300)
def test_loops_cost_what_an_interpreter_counts(body: tuple[Node, ...]) -> None:
    check(body)


@given(loops_beside_each_other())
@settings(max_examples=300, deadline=None)
def test_long_loops_cost_what_an_interpreter_counts(body: tuple[Node, ...]) -> None:
    check(body)


@given(bodies((), len(ARGS), depth=3).map(plain))
def test_any_program_costs_what_an_interpreter_counts(body: tuple[Node, ...]) -> None:
    check(body)


def test_three_instructions_a_command() -> None:
    """A preload and a compute that run, as hand-written code has them: an addition each, and a
    branch for all."""
    row, words = var(0), [0x80, 0x180, 0x280, 0x380]
    pairs = [
        Command(funct, Operand.of(base + offset, 16 * row), Operand.of(base + offset + 4096, row))
        for base in words
        for funct, offset in ((6, 0), (5, 64))
    ]
    found = cost(Loop(0, const(500), tuple(pairs)))
    assert found.commands == 4000
    # Each command's two operands are new values: 2 additions and itself, and 1 for 8 of them.
    assert 3.1 <= found.instructions_per_command <= 3.2


def test_bytes_and_cycles_of_code_that_runs_once() -> None:
    once = tuple(Command(2, Operand(), Operand()) for _ in range(160))
    found = cost(*once, Loop(0, const(100), once[:30]))
    assert (found.loop_bytes, found.once_bytes) == (4 * 30 + 3 * 2, 4 * 160 + 3 * (CALL + 1))
    assert found.once_cycles == CALL + 161 + 49 * 11
    free = replace(COUNTING, name="free")
    assert cost(*once, config=free).once_cycles == CALL + 160
