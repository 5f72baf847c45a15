"""Expansion: the C++ expander gives what the definition says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import expand
from program_strategies import places, programs

from npu_target.device_api import expand_program
from npu_target.devices.gemmini import GemminiConfig
from npu_target.program import (
    Arg,
    Command,
    Expr,
    Loop,
    Op,
    Operand,
    Program,
    ProgramError,
    const,
    var,
)
from npu_target.program import expand as program_expand

ARGS = (Arg("x", "input", "int8", (16,)), Arg("y", "output", "int8", (16,)))


def kernel(*body: Loop | Command) -> Program:
    return Program("kernel", GemminiConfig(), ARGS, body)


@given(programs(with_constants=True), st.data())
def test_same_stream_as_the_definition(program: Program, data: st.DataObject) -> None:
    addresses = data.draw(places(program))
    assert program.expand(addresses) == expand(program, addresses)


@given(st.sampled_from([Op.FLOOR_DIV, Op.FLOOR_MOD]), st.data())
def test_division_floors(op: Op, data: st.DataObject) -> None:
    values = st.integers(-9, 9) | st.sampled_from([-(2**63), 2**63 - 1])
    a, b = data.draw(values), data.draw(values.filter(bool))
    args = (Expr(Op.CONST, a), Expr(Op.CONST, b))
    program = kernel(Command(7, Operand(0, None, (), ((1, Expr(op, args=args)),)), Operand()))
    expected = a // b if op is Op.FLOOR_DIV else a % b
    assert program.expand({"x": 0, "y": 0}) == [(7, expected % 2**64, 0)]


def test_order_and_addresses() -> None:
    body = Loop(0, const(2), (
        Command(2, Operand.argument(0, 64 * var(0)), Operand.of(var(0))),
        Loop(1, var(0) - 1, (Command(7, Operand(), Operand()),)),
        Loop(2, var(0), (Command(3, Operand.argument(1), Operand.of(var(2) - 1)),)),
    ))  # fmt: skip
    assert kernel(body).expand({"y": 0x2000, "x": 0x1000}) == [
        (2, 0x1000, 0),
        (2, 0x1040, 1),
        (3, 0x2000, 2**64 - 1),
    ]


def test_limit() -> None:
    program = kernel(Loop(0, const(5), (Command(2, Operand.of(var(0)), Operand()),)))
    addresses = {"x": 0, "y": 0}
    assert program.expand(addresses, limit=2) == program.expand(addresses)[:2]
    assert len(program.expand(addresses, limit=9)) == 5


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        ({"x": 0}, "no address for y; program kernel has the arguments x, y"),
        ({}, "no address for x, y"),
        ({"x": 0, "y": 0, "z": 0}, "no argument is called z; program kernel has the arguments"),
        ({"x": -1, "y": 0}, "x at -0x1: its 16 bytes need 64-bit addresses"),
        ({"x": 2**64 - 15, "y": 0}, "x at 0xfffffffffffffff1: its 16 bytes"),
    ],
)
def test_addresses_that_do_not_fit(addresses: dict[str, int], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        kernel().expand(addresses)


def test_an_argument_that_operands_need_at_a_multiple() -> None:
    in_units = Operand.argument(1, 3, unit=5) * (1 << 26)
    program = kernel(Command(7, in_units, Operand.argument(1)))
    assert program.alignments == (1, 32)
    assert program.expand({"x": 1, "y": 64}) == [(7, (2 + 3) << 26, 64)]
    with pytest.raises(ProgramError, match="y at 0x48: needs a multiple of 32 bytes"):
        program.expand({"x": 0, "y": 0x48})
    # The library says so, too.
    addresses = [0x8001_0000, 0x8002_0010]
    with pytest.raises(RuntimeError, match=r"\[bad_program\] .*'y': needs a multiple of 32 for"):
        expand_program(program.to_bytes(), addresses)


def test_a_division_by_zero_names_the_program() -> None:
    zero = Operand(0, None, (), ((1, Expr(Op.FLOOR_DIV, args=(const(1), var(0)))),))
    program = kernel(Loop(0, const(1), (Command(7, zero, Operand()),)))
    with pytest.raises(ProgramError, match=r"^program kernel: NpuDeviceError \[bad_program\]"):
        program.expand({"x": 0, "y": 0})


def test_without_the_device_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_expand, "_EXPANDER", "npu.program.not_there")
    with pytest.raises(ProgramError, match=r"device library, .* is not loaded; install npu_target"):
        kernel().expand({"x": 0, "y": 0})
