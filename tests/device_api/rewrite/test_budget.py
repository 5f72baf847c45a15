"""More code where a command takes the host too many instructions."""

from __future__ import annotations

from program_streams import check, command, program, rewritten_by

from npu_target import rewriting
from npu_target.device_api import HostCost, host_cost
from npu_target.devices.gemmini.isa import ComputePreloaded, Preload
from npu_target.program import Command, Loop, Node, Operand, const, eq, var

TILE, STEP, ROW = var(1), var(2), var(3)
PAIR = (
    Command(Preload.funct, Operand.of(64 * STEP + 16 * ROW), Operand.of(16 * ROW)),
    Command(ComputePreloaded.funct, Operand.of(16 * STEP + 4096), Operand()),
)
# Rolling would make one loop of what these tests write out.
PASSES = ("splitting", "unrolling", "hoisting", "sums")


def cost(body: tuple[Node, ...]) -> HostCost:
    return host_cost(program(*body).to_bytes())


def steps(questions: int) -> tuple[Node, ...]:
    """Those of a tile, and copies under conditions between them."""
    copies = [
        Loop(0, eq(STEP, const(k)), (command(16 * k, 64 * TILE + 4096 * k),))
        for k in range(questions)
    ]
    return (Loop(2, const(7), (*copies, Loop(3, const(2), PAIR))),)


def tiles(questions: int) -> tuple[Node, ...]:
    return (Loop(1, const(200), steps(questions)),)


def results(body: tuple[Node, ...], *passes: str) -> tuple[HostCost, HostCost]:
    """What a body asks without a budget and with it."""
    within = rewritten_by(*passes, "budget")
    check(within, body)
    return cost(rewritten_by(*passes)(body)), cost(within(body))


def test_loops_are_cut_or_unrolled_until_the_host_has_time() -> None:
    before, after = results(tiles(7), *PASSES)
    assert before.instructions > 3 * before.commands
    assert after.instructions <= 3 * after.commands
    assert after.commands == before.commands


def test_what_has_time_stays() -> None:
    assert rewritten_by(*PASSES, "budget")(tiles(1)) == rewritten_by(*PASSES)(tiles(1))


def test_what_is_switched_off_is_not_done() -> None:
    before, after = results(tiles(7), "hoisting", "sums")
    assert before == after


def test_a_program_of_very_many_commands_is_not_counted() -> None:
    """Its loop varies, so that counting would go through every iteration."""
    inner = Loop(2, 1 + TILE, (command(16 * STEP),))
    body = (Loop(1, const(1 << 25), (inner,)),)
    assert rewritten_by("budget")(body) == body


def test_loops_stay_within_the_instruction_cache() -> None:
    """Of many loops that are cut, the last ones are not."""
    body = (Loop(1, const(5), steps(7) * 24),)
    before, after = results(body, *PASSES)
    assert before.loop_bytes < after.loop_bytes <= 12 * 1024
    assert after.instructions < before.instructions


def test_all_passes_together_meet_it() -> None:
    _, after = results(tiles(7), *rewriting.PASSES[:-1])
    assert after.instructions <= 3 * after.commands
