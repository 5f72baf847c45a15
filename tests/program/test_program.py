"""Building programs: commands whose fields run, and parts that do not fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import operand_value

from npu_target.device.commands import IsaError
from npu_target.devices.gemmini import GemminiConfig, isa
from npu_target.program import (
    Address,
    Arg,
    Command,
    Expr,
    Loop,
    Node,
    Operand,
    Program,
    ProgramError,
    const,
    device_command,
    lt,
    minimum,
    var,
)

SPAD, ACC = isa.LocalAddress.spad, isa.LocalAddress.acc
i, j = var(0), var(1)
FLUSH = device_command(isa.Flush)


def program(*body: Node, args: tuple[Arg, ...] = ()) -> Program:
    return Program("kernel", GemminiConfig(), args, body)


def test_a_field_may_hold_an_address_in_units() -> None:
    command = device_command(
        isa.Mvin,
        dram_address=0,
        local=SPAD(5),
        cols=Operand.argument(0, 3, 2 * i, unit=4),
        rows=1,
    )
    assert command.rs2.address == Address(0, 4, 32)
    assert command.rs2.base == 1 << 48 | 3 << 32 | 5
    assert command.rs2.steps == ((0, 2 << 32),)


@given(st.integers(0, 100), st.integers(0, 100))
def test_running_fields_are_those_of_the_command(a: int, b: int) -> None:
    command = device_command(
        isa.Mvin,
        dram_address=Operand.argument(0, 64 * i, 16),
        local=(ACC(0x20), 16 * j, lt(0, i) * (1 << 30)),
        cols=1 + j,
        rows=minimum(16, 116 - a // (i + 1)),
    )
    words = (
        command.funct,
        *(operand_value(word, {0: a, 1: b}, [0x80010000]) for word in (command.rs1, command.rs2)),
    )
    assert isa.COMMANDS.decode(*words) == isa.Mvin(
        0x80010000 + 64 * a + 16,
        ACC(0x20 + 16 * b, accumulate=a > 0),
        1 + b,
        min(16, 116 - a // (a + 1)),
    )


def test_constants_give_the_words_of_the_command() -> None:
    fields: dict[str, Any] = {"a": SPAD(3), "a_cols": 16, "a_rows": 7}
    fields |= {"bd": isa.GARBAGE, "bd_cols": 16, "bd_rows": 16}
    command = device_command(isa.ComputePreloaded, **fields)
    assert (command.funct, command.rs1.base, command.rs2.base) == isa.ComputePreloaded(
        **fields
    ).encode()
    assert command.rs1.is_constant and command.rs2.is_constant


def test_expressions_that_fold_are_constants() -> None:
    folded = device_command(
        isa.Mvin, dram_address=0, local=(SPAD(4), const(3)), cols=const(5), rows=(8, 8)
    )
    assert (folded.rs1.base, folded.rs2.base) == isa.Mvin(0, SPAD(7), 5, 16).encode()[1:]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: device_command(isa.Flush, skips=True), "flush: has no field skips"),
        (lambda: device_command(isa.Mvin), "mvin: needs the field dram_address"),
        (
            lambda: device_command(isa.ConfigLd, stride_bytes=0, block_stride=const(2**16)),
            "config_ld: block_stride is 65536, needs 0 to 65535",
        ),
        (
            lambda: device_command(isa.ConfigLd, stride_bytes=0, block_stride=(3, const(-4))),
            "config_ld: block_stride is -1, needs 0 to 65535",
        ),
        (
            lambda: device_command(isa.ConfigLd, stride_bytes=0, block_stride=16, scale=i),
            "config_ld: scale is a float32, needs one constant",
        ),
        (
            lambda: device_command(isa.ConfigLd, stride_bytes=(1.5, i), block_stride=16),
            "config_ld: stride_bytes has the term 1.5, needs integers",
        ),
        (
            lambda: device_command(
                isa.Mvout, dram_address=0, local=(SPAD(0), const(-1)), cols=1, rows=1
            ),
            "mvout: local is -1, needs a LocalAddress",
        ),
    ],
)
def test_commands_that_cannot_be_built(make: Callable[[], Command], message: str) -> None:
    with pytest.raises(IsaError, match=message):
        make()


ONE_ARGUMENT = (Arg("x", "input", "int8", (1,)),)
TOO_FAST = Operand(0, None, ((0, 2**63),))


def command(*terms: int | Expr | Operand) -> Command:
    return Command(7, Operand.of(*terms), Operand())


def nested(depth: int) -> Node:
    node: Node = FLUSH
    for loop_id in range(depth):
        node = Loop(loop_id, const(1), (node,))
    return node


def deep(depth: int) -> Expr:
    expr: Expr = i
    for _ in range(depth - 1):
        expr = minimum(expr * i, i)
    return expr


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: program(command(i)), "kernel: i0 is used outside its loop"),
        (lambda: program(Loop(0, i, ())), "i0 is used outside its loop"),
        (
            lambda: program(Loop(0, const(2), (command(i),)), command(minimum(i, 3))),
            "i0 is used outside its loop",
        ),
        (lambda: program(Loop(0, const(1), (Loop(0, const(1), ()),))), "i0 is inside itself"),
        (lambda: program(nested(65)), "nested deeper than 64"),
        (lambda: program(Loop(0, const(1), (command(deep(200)),))), "nested deeper than 256"),
        (lambda: program(command(Operand.argument(0))), "argument 0, there are 0"),
        (
            lambda: program(command(Operand(0, Address(0, 32))), args=ONE_ARGUMENT),
            r"units of 2\*\*32 bytes from bit 0 on, needs at most 2\*\*31 and a bit",
        ),
        (
            lambda: program(command(Operand(0, Address(0, 0, 64))), args=ONE_ARGUMENT),
            "from bit 64 on, needs",
        ),
        (lambda: program(Command(128, Operand(), Operand())), "funct is 128, needs 0 to 127"),
        (lambda: program(Command(7, Operand(-1), Operand())), "base -1 is no uint64"),
        (
            lambda: program(Loop(0, const(1), (Command(7, TOO_FAST, Operand()),))),
            "9223372036854775808 is no int64",
        ),
        (lambda: program(args=(Arg("x", "input", "int8", (1,)),) * 2), "two arguments are called"),
        (lambda: Program("", GemminiConfig(), (), ()), "needs a printable name"),
        (lambda: Arg("x", "inout", "int8", (1,)), "argument x: role is 'inout', needs"),
        (lambda: Arg("x", "input", "int4", (1,)), "argument x: dtype is 'int4', needs one of"),
        (lambda: Arg("x", "input", "int8", (0,)), r"argument x: shape \(0,\) needs extents from 1"),
        (lambda: Arg("x", "input", "int8", (2**41,)), "2199023255552 bytes, needs at most"),
        (lambda: Arg("", "input", "int8", (1,)), "needs a printable name"),
    ],
)  # fmt: skip
def test_programs_that_cannot_be(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        make()


def test_what_is_at_the_limits() -> None:
    assert program(nested(64))
    assert program(Loop(0, const(1), (FLUSH,)), Loop(0, const(1), (FLUSH,)))
    assert Arg("x", "input", "int32", (2, 3)).nbytes == 24
    assert Arg("x", "input", "float16", ()).nbytes == 2
