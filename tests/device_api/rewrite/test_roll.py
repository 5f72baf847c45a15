"""Parts that repeat themselves become loops."""

from __future__ import annotations

from hypothesis import given, settings
from my_npu import commands as my_npu
from program_strategies import bodies
from program_streams import ARGS, check, command, repeating, rewritten_by, stream, text

from npu_target.devices.gemmini.isa import LoopWs, LoopWsAddressesAB, LoopWsBounds
from npu_target.program import (
    Command,
    Expr,
    Loop,
    Node,
    Operand,
    const,
    device_command,
    floor_mod,
    le,
    var,
)

rolled = rewritten_by("rolling")


@given(repeating())
@settings(max_examples=100)
def test_the_stream_stays(body: tuple[Node, ...]) -> None:
    check(rolled, body)


@given(bodies((), len(ARGS), depth=3))
def test_the_stream_of_any_program_stays(body: tuple[Node, ...]) -> None:
    check(rolled, body)


def test_neighbours_alike_become_a_loop() -> None:
    def pair(index: Expr | int) -> tuple[Node, ...]:
        store = Command(3, Operand.argument(1, 64), Operand.of(8 * index + 512, 16 << 48))
        return command(16 * index, 256 * index), store

    body = (*pair(0), *pair(1), *pair(2), *pair(3))
    assert text(*rolled(body)) == text(Loop(1, const(4), pair(var(1))))


def test_nests_alike_become_a_loop_whatever_their_variables_are_called() -> None:
    def nest(loop_id: int, row: int) -> Loop:
        index = var(loop_id)
        condition = Loop(0, le(index, const(2)), (command(16 * index + row, 64 * index),))
        return Loop(loop_id, const(5), (condition, command(row, 0), command(row + 8, 64 * index)))

    outer, index = var(3), var(1)
    condition = Loop(0, le(index, const(2)), (command(16 * index + 100 * outer, 64 * index),))
    inner = (condition, command(100 * outer, 0), command(8 + 100 * outer, 64 * index))
    body = rolled((nest(1, 0), nest(2, 100)))
    assert text(*body) == text(Loop(3, const(2), (Loop(1, const(5), inner),)))


def test_what_advances_unevenly_stays() -> None:
    rows = [0, 16, 33, 48, 65, 99]
    body = tuple([command(row) for row in rows])
    assert rolled(body) == body


def test_settings_and_flags_do_not_run() -> None:
    configs = tuple([Command(0, Operand(i), Operand(64 * i)) for i in range(8)])
    assert rolled(configs) == configs
    flags = tuple([Command(2, Operand(), Operand(i << 29)) for i in range(8)])
    assert rolled(flags) == flags


def test_rows_may_be_negative_before_loops_add_to_them() -> None:
    index = var(1)

    def loop(row: int) -> Loop:
        nodes = [command(16 * index + row + 100 * i + (1 << 31), 0) for i in (0, 1, 3, 7)]
        return Loop(1, const(4), tuple(nodes))

    body = (loop(-40), loop(60), loop(160))
    found = rolled(body)
    assert len(found) == 1
    assert stream(found) == stream(body)


def test_rows_are_where_the_device_has_them() -> None:
    """Beside each other rows advance, but not into what is said of them."""

    def copies(field: str, step: int) -> tuple[Node, ...]:
        address = Operand.argument(0)
        fixed = {"row": 0, "rows": 1, "columns": 1, "stride": 1, "dram_address": address}
        return tuple([device_command(my_npu.Load, **{**fixed, field: step * i}) for i in range(8)])

    rolled = rewritten_by("rolling", commands=my_npu.COMMANDS)
    (loop,) = rolled(copies("row", 8))
    assert isinstance(loop, Loop) and loop.extent == const(8)
    sizes = copies("rows", 1)[1:]
    assert rolled(sizes) == sizes


def test_few_loops_of_the_device_s_own_stay_one_after_the_other() -> None:
    """A loop around them would begin with registers of its own before the first; but for many of
    them, whose code would be long."""

    def products(number: int) -> tuple[Node, ...]:
        return tuple(
            node
            for i in range(number)
            for node in (
                device_command(LoopWsBounds, i_blocks=1, j_blocks=4, k_blocks=16),
                device_command(
                    LoopWsAddressesAB, a_address=Operand.argument(0, 64 * i), b_address=0
                ),
                device_command(LoopWs, activation=0),
            )
        )

    assert rolled(products(20)) == products(20)
    (loop,) = rolled(products(100))
    assert isinstance(loop, Loop) and loop.extent == const(100)
    assert stream((loop,)) == stream(products(100))


def test_another_iteration_in_front_or_behind_goes_into_the_loop() -> None:
    index, inner = var(1), var(2)

    def asked(index: Expr | int) -> Loop:
        return Loop(0, le(floor_mod(index + const(4), 4), const(2)), (command(7),))

    body = Loop(2, const(3), (command(16 * inner + 64 * index, 256 * index),)), asked(index)
    loop = Loop(1, const(5), body)
    # What an iteration is: the condition is decided, the inner loop has another name.
    taken = tuple([Loop(9, const(3), (command(16 * var(9) + 64 * i, 256 * i),)) for i in (-1, 5)])
    conditions = [asked(i) for i in (-1, 5)]
    found = rolled((taken[0], conditions[0], loop, taken[1], conditions[1]))
    assert [node.extent for node in found if isinstance(node, Loop)] == [const(7)]
    assert stream(found) == stream((taken[0], conditions[0], loop, taken[1], conditions[1]))


def test_a_loop_that_costs_more_than_its_code_stays() -> None:
    """Two commands that are run often: a loop around them would take longer each time."""
    often = (Loop(1, const(1000), (command(16 * var(1)), command(16 * var(1) + 8))),)
    assert rolled(often) == often
