"""More code where a command takes the host too many instructions."""

from __future__ import annotations

import pytest
from program_streams import command, program

from npu_target.device_api import HostCost, host_cost
from npu_target.devices.gemmini.isa import COMMANDS, ComputePreloaded, Preload
from npu_target.pipeline_options import DEFAULT, PipelineOptions
from npu_target.program import Command, Loop, Node, Operand, const, eq, nodes_of, var
from npu_target.rewrite.budget import HostModel, within_budget
from npu_target.rewrite.parts import NO_CHANGE, Parts

TILE, STEP, ROW = var(1), var(2), var(3)
PAIR = (
    Command(Preload.funct, Operand.of(64 * STEP + 16 * ROW), Operand.of(16 * ROW)),
    Command(ComputePreloaded.funct, Operand.of(16 * STEP + 4096), Operand()),
)


def cost(body: tuple[Node, ...]) -> HostCost:
    return host_cost(program(*body).to_bytes())


HOST = HostModel(cost, 49 / 64)


def steps(questions: int) -> tuple[Node, ...]:
    """Those of a tile, and copies under conditions between them."""
    copies = [
        Loop(0, eq(STEP, const(k)), (command(16 * k, 64 * TILE + 4096 * k),))
        for k in range(questions)
    ]
    return (Loop(2, const(7), (*copies, Loop(3, const(2), PAIR))),)


def tiles(questions: int) -> tuple[Node, ...]:
    return (Loop(1, const(200), steps(questions)),)


def results(
    body: tuple[Node, ...], options: PipelineOptions = DEFAULT
) -> tuple[HostCost, HostCost]:
    """What a body asks before and after."""
    parts = Parts(body, COMMANDS, options)
    found = parts.rewritten(lambda name, nodes: None)
    return cost(found), cost(within_budget(found, parts, HOST))


def test_loops_are_cut_or_unrolled_until_the_host_has_time() -> None:
    before, after = results(tiles(7))
    assert before.instructions > 3 * before.commands
    assert after.instructions <= 3 * after.commands
    assert after.commands == before.commands


@pytest.mark.parametrize(
    ("saved_by_a_node", "fetch_cycles", "is_unrolled"),
    [(0, 49 / 64, False), (4, 49 / 64, True), (0, 0.0, True)],
)
def test_loops_are_unrolled_where_that_is_worth_their_code(
    saved_by_a_node, fetch_cycles, is_unrolled
) -> None:
    """By a model of the host to which a node is 4 bytes, and so many instructions less."""

    def model(body: tuple[Node, ...]) -> HostCost:
        nodes = len(list(nodes_of(body)))
        return HostCost(1000 - saved_by_a_node * nodes, 1000, 4 * nodes, 0, 0)

    words = tuple([command(16 * ROW + 4096 * k) for k in range(2)])
    body = (Loop(1, const(40), (Loop(3, const(8), words), command(0, 64 * TILE))),)
    parts = Parts(body, COMMANDS, DEFAULT)
    unrolled = parts.rewritten(lambda name, nodes: None)
    assert len(list(nodes_of(unrolled))) == 18
    found = within_budget(unrolled, parts, HostModel(model, fetch_cycles))
    assert found == (unrolled if is_unrolled else body)


def test_what_has_time_stays() -> None:
    calls = []

    def counted(body: tuple[Node, ...]) -> HostCost:
        calls.append(body)
        return cost(body)

    parts = Parts(tiles(1), COMMANDS, DEFAULT)
    found = parts.rewritten(lambda name, nodes: None)
    assert within_budget(found, parts, HostModel(counted, 49 / 64)) is found
    assert len(calls) <= 2  # as it is, and without what was unrolled


def test_what_is_switched_off_is_not_done() -> None:
    options = PipelineOptions(splitting=False, unrolling=False)
    before, after = results(tiles(7), options)
    assert before == after


def test_a_program_of_very_many_commands_is_not_counted() -> None:
    body = (Loop(1, const(1 << 25), (command(16 * TILE),)),)
    parts = Parts(body, COMMANDS, DEFAULT)

    def never(body: tuple[Node, ...]) -> HostCost:
        raise AssertionError("it would take seconds")

    assert within_budget(body, parts, HostModel(never, 49 / 64)) is body


def test_loops_stay_within_the_instruction_cache() -> None:
    """Of many loops that are cut, the last ones are not."""
    body = (Loop(1, const(5), steps(7) * 24),)
    before, after = results(body)
    assert before.loop_bytes < after.loop_bytes <= 12 * 1024
    assert after.instructions < before.instructions


def test_a_change_is_that_of_the_loops_it_names() -> None:
    change = NO_CHANGE.cutting(1).joining(2, 4).joining(2, 8).joining(3, 1)
    assert change.of(frozenset({1, 3})) == NO_CHANGE.cutting(1).joining(3, 1)
    assert change.of(frozenset({2})).joined == {(2, 8)}
    assert change.of(frozenset()) == NO_CHANGE


def test_what_is_joined_already_is_told() -> None:
    """By itself the loop of a row is unrolled, that of seven steps is not."""
    parts = Parts(tiles(0), COMMANDS, DEFAULT)
    assert parts.is_joined(NO_CHANGE, 2, 1)
    assert not parts.is_joined(NO_CHANGE, 2, 7)
    assert parts.is_joined(NO_CHANGE.joining(2, 7), 2, 7)
    for iterations in (1, 2, 7):
        change = NO_CHANGE.joining(2, iterations)
        same = parts.changed(change) == parts.changed(NO_CHANGE)
        assert same == parts.is_joined(NO_CHANGE, 2, iterations)
