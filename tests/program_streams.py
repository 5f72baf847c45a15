"""Random programs that repeat themselves, and whether a pass keeps their streams."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from program_evaluator import expand

from npu_target import program as p
from npu_target import rewriting
from npu_target.device import preset
from npu_target.device.command_set import CommandSet
from npu_target.devices.gemmini.isa import COMMANDS
from npu_target.pipeline_options import PipelineOptions
from npu_target.program import Address, Arg, Command, Expr, Loop, Node, Operand, Program, const, var

Change = Callable[[tuple[Node, ...]], tuple[Node, ...]]

CONFIG = preset("gemmini-16x16")
ARGS = (Arg("x", "input", "int8", (64,)), Arg("y", "output", "int8", (64,)))
CONDITION = 0  # the loop of all conditions, as code generation has them
SMALL = st.sampled_from([0, 0, 1, 16, 64])


def program(*body: Node) -> Program:
    return Program("k", CONFIG, ARGS, body)


def stream(body: tuple[Node, ...]) -> list[tuple[int, int, int]]:
    """The commands that a body issues. Raises ProgramError where its parts do not fit together."""
    return expand(program(*body), {"x": 0x10000, "y": 0x20000})


def rewritten_by(*passes: str, commands: CommandSet = COMMANDS) -> Change:
    """What these passes alone make of a body."""
    options = PipelineOptions.only(passes)
    return lambda body: rewriting.rewritten(program(), body, commands, options).body


def check(change: Change, body: tuple[Node, ...]) -> None:
    assert stream(change(body)) == stream(body)


def text(*body: Node) -> list[str]:
    """Nodes as the disassembly has them."""
    return [line.strip() for line in program(*body).text.splitlines()[4:]]


def command(row: Operand | Expr | int = 0, address: Operand | Expr | int = 0) -> Command:
    """A load of 16 rows and columns."""
    words = Operand.argument(0, address), Operand.of(row, 16 << 32, 16 << 48)
    return Command(2, *words)


@st.composite
def conditions(draw: st.DrawFn, loop_ids: tuple[int, ...]) -> Expr:
    """Of the kinds that boundaries of tiles have."""
    form = const(draw(st.integers(-4, 4)))
    for loop_id in draw(st.lists(st.sampled_from(loop_ids), max_size=2)):
        index = var(loop_id)
        if draw(st.integers(0, 3)) == 0:
            index = draw(st.sampled_from([p.floor_div, p.floor_mod]))(
                index, draw(st.integers(1, 3))
            )
        form = form + index * draw(st.sampled_from([-2, -1, 1, 2]))
    compare = draw(st.sampled_from([p.lt, p.le, p.eq]))
    found = compare(*draw(st.permutations([form, const(draw(st.integers(-2, 4)))])))
    if draw(st.integers(0, 3)) == 0:
        found = p.logical_not(found)
    if draw(st.integers(0, 3)) == 0:
        combine = draw(st.sampled_from([p.logical_and, p.logical_or]))
        found = combine(found, draw(conditions(loop_ids)))
    return found


@st.composite
def repeating(draw: st.DrawFn, loop_ids: tuple[int, ...] = (), depth: int = 3) -> tuple[Node, ...]:
    """A body in which some parts come again, their operands changed by small numbers."""
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 3))
        if depth and kind == 0:
            loop_id = 1 + draw(st.integers(0, 1)) * 10 + len(loop_ids)
            inner = draw(repeating((*loop_ids, loop_id), depth - 1))
            nodes.append(Loop(loop_id, const(draw(st.integers(0, 9))), inner))
        elif depth and kind == 1 and loop_ids and CONDITION not in loop_ids:
            inner = draw(repeating(loop_ids, 0))
            nodes.append(Loop(CONDITION, draw(conditions(loop_ids)), inner))
        else:
            nodes.append(draw(commands(loop_ids)))
    by = draw(SMALL)
    for time in range(1, draw(st.integers(1, 4))):
        nodes += [moved(node, time * by) for node in nodes[: draw(st.integers(1, len(nodes)))]]
    return tuple(nodes)


@st.composite
def commands(draw: st.DrawFn, loop_ids: tuple[int, ...]) -> Command:
    words = []
    for _ in range(2):
        steps = tuple([(loop_id, by) for loop_id in sorted(loop_ids) if (by := draw(SMALL))])
        general: tuple[tuple[int, Expr], ...] = ()
        if loop_ids and draw(st.integers(0, 4)) == 0:
            general = ((draw(st.integers(1, 3)), draw(conditions(loop_ids))),)
        address = draw(st.sampled_from([None, Address(0), Address(1), Address(0, 4, 26)]))
        words.append(Operand(draw(st.integers(0, 3)) * 16, address, steps, general))
    return Command(draw(st.sampled_from([0, 2, 3])), *words)


def moved(node: Node, by: int) -> Node:
    """A node whose operands begin later."""
    if isinstance(node, Loop):
        return Loop(node.loop_id, node.extent, tuple([moved(part, by) for part in node.body]))
    return Command(node.funct, node.rs1 + by, node.rs2 + 2 * by)
