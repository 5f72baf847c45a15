"""The binary form: round trips, and corrupt files that raise and never crash."""

from __future__ import annotations

import copy
import pickle
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_strategies import programs

from npu_target import device_api
from npu_target.devices.gemmini import GemminiConfig
from npu_target.program import (
    Arg,
    Command,
    Constant,
    Loop,
    Operand,
    Program,
    ProgramError,
    const,
    minimum,
    var,
)
from npu_target.program.expr import Expr, Op
from npu_target.program.file import with_code, write_program
from npu_target.program.writer import code_bytes, head_bytes

TABLE = Constant("table", b"abc")
PROGRAM = Program(
    "kernel",
    GemminiConfig(),
    (Arg("x", "input", "int8", (2, 3)), Arg("y", "output", "int32", (4,))),
    (
        Loop(
            5,
            const(3),
            (Command(2, Operand.argument(1, 64 * var(5)), Operand.of(minimum(var(5), 3) * 7)),),
        ),
    ),
)


def sealed(payload: bytes) -> bytes:
    return b"NPUPROG\x03" + struct.pack("<II", len(payload), zlib.crc32(payload)) + payload


@given(programs(with_constants=True))
def test_reading_inverts_writing(program: Program) -> None:
    data = program.to_bytes()
    assert Program.from_bytes(data) == program
    assert Program.from_bytes(data).to_bytes() == data


@given(programs(with_constants=True))
def test_the_device_reads_what_is_written(program: Program) -> None:
    device_api.validate_program(program.to_bytes())


@given(programs())
def test_other_bodies_of_a_program(program: Program) -> None:
    other = replace(program, body=program.body[::-1])
    assert write_program(program, other.body) == other.to_bytes()
    head, code = head_bytes(program), code_bytes(other.body)
    found = with_code(program, code)
    assert found == other
    assert found.to_bytes() == other.to_bytes()
    assert found.to_bytes()[16:] == head + code


def test_a_body_that_is_read_when_it_is_asked_for() -> None:
    other = replace(PROGRAM, body=PROGRAM.body * 2)
    code = code_bytes(other.body)

    def made() -> Program:
        found = with_code(PROGRAM, code)
        assert "body" not in vars(found)
        return found

    assert made().body == other.body
    assert other == made() != PROGRAM
    assert hash(made()) == hash(other)
    assert repr(made()) == repr(other)
    assert pickle.loads(pickle.dumps(made())) == other
    assert copy.copy(made()) == copy.deepcopy(made()) == other
    assert replace(made(), name="k").body == other.body
    assert replace(made(), body=()).to_bytes() == replace(other, body=()).to_bytes()
    with pytest.raises(TypeError, match="body"):
        Program("k", GemminiConfig(), ())


def test_constants_come_behind_arguments() -> None:
    program = Program("k", GemminiConfig(), (Arg("x", "input", "int8", (4,)),), (), (TABLE,))
    payload = program.to_bytes()[16:]
    both = [
        struct.pack("<I", 1) + b"x" + struct.pack("<BI", 0, 4) + b"int8" + struct.pack("<IQ", 1, 4),
        struct.pack("<I", 5) + b"table" + struct.pack("<BI", 2, 3) + b"abc",
    ]
    assert payload.count(b"".join(both)) == 1
    for wrong, message in (
        (b"".join(reversed(both)), "an argument follows a constant"),
        (both[0] + both[1].replace(b"\x03\0\0\0abc", b"\xff\0\0\0abc"), "more bytes needed"),
    ):
        damaged = sealed(payload.replace(b"".join(both), wrong))
        with pytest.raises(ProgramError, match=message):
            Program.from_bytes(damaged)
        with pytest.raises(RuntimeError, match="bad_program"):
            device_api.validate_program(damaged)
    with pytest.raises(ProgramError, match="two arguments are called 'x'"):
        Program("k", GemminiConfig(), program.args, (), (Constant("x", b""),))


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "kernel.npu"
    PROGRAM.save(path)
    assert Program.load(path) == PROGRAM
    assert list(tmp_path.iterdir()) == [path]


def test_layout_of_a_small_program() -> None:
    """Byte by byte what the format says."""

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode()

    config = GemminiConfig()
    fields = config.numbers().items()
    payload = (
        text("kernel") + text(config.kind) + text(config.name) + struct.pack("<I", len(fields))
    )
    payload += b"".join(text(key) + struct.pack("<q", value) for key, value in fields)
    payload += struct.pack("<I", 2)
    payload += text("x") + b"\0" + text("int8") + struct.pack("<I2Q", 2, 2, 3)
    payload += text("y") + b"\1" + text("int32") + struct.pack("<IQ", 1, 4)
    payload += struct.pack("<I", 3)  # expressions, in the order of use
    payload += struct.pack("<Bq", 0, 3) + struct.pack("<BI", 1, 5) + struct.pack("<BII", 7, 1, 0)
    payload += struct.pack("<I", 1) + struct.pack("<BII", 1, 5, 0)
    payload += struct.pack("<I", 1) + struct.pack("<BB", 2, 2)
    payload += operand_head(1) + struct.pack("<IQ", 5, 64) + struct.pack("<I", 0)
    payload += operand_head(0xFFFF, steps=0) + struct.pack("<I", 1) + struct.pack("<QI", 7, 2)
    assert PROGRAM.to_bytes() == sealed(payload)


def test_shared_expressions_are_written_once() -> None:
    shared = var(0)
    for _ in range(100):  # 2**100 nodes as a tree
        shared = Expr(Op.MUL, args=(shared, shared))
    command = Command(2, Operand.of(shared), Operand.of(shared))
    program = Program("kernel", GemminiConfig(), (), (Loop(0, const(1), (command,)),))
    data = program.to_bytes()
    assert len(data) < 4000
    assert Program.from_bytes(data) == program
    assert "mul(...)" in str(program)


@given(st.integers(0, len(PROGRAM.to_bytes()) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_noticed(index: int, flip: int) -> None:
    data = bytearray(PROGRAM.to_bytes())
    data[index] ^= flip
    with pytest.raises(ProgramError, match=r"kernel\.npu: (corrupt|not a program file)"):
        Program.from_bytes(bytes(data), "kernel.npu")


@given(st.integers(0, len(PROGRAM.to_bytes()) - 1))
def test_a_cut_is_noticed(length: int) -> None:
    with pytest.raises(ProgramError):
        Program.from_bytes(PROGRAM.to_bytes()[:length])


@given(st.data())
def test_hostile_payloads_raise_or_are_read_alike_by_the_device(data: st.DataObject) -> None:
    """With a valid checksum every field is in reach of an attacker."""
    payload = bytearray(PROGRAM.to_bytes()[16:])
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(payload) - 1))
        payload[index] = data.draw(st.sampled_from([0, 1, 2, 3, 127, 128, 255]))
    cut = data.draw(st.integers(0, 8))
    hostile = sealed(bytes(payload[: len(payload) - cut]))
    try:
        program = Program.from_bytes(hostile)
    except ProgramError:
        return
    str(program)
    device_api.validate_program(hostile)


def operand_head(argument: int, unit: int = 0, low_bit: int = 0, steps: int = 1) -> bytes:
    """An operand of base 0, up to its steps."""
    return struct.pack("<QHBBI", 0, argument, unit, low_bit, steps)


def corrupted(old: bytes, new: bytes) -> bytes:
    payload = PROGRAM.to_bytes()[16:]
    assert payload.count(old) == 1
    return sealed(payload.replace(old, new))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a program file"),
        (b"\x7fELF" + bytes(40), "not a program file"),
        (PROGRAM.to_bytes() + b"\0", r"the header says \d+ bytes, \d+ follow"),
        (sealed(PROGRAM.to_bytes()[16:] + b"\0"), "corrupt, 1 bytes follow the program"),
        (corrupted(b"kernel", b"ker\xffel"), "byte 0: a string is not UTF-8"),
        (corrupted(b"acc_banks", b"acc_bankz"), "kind gemmini has no field 'acc_bankz'"),
        (corrupted(b"acc_banks", b"bus_bytes"), "the device's bus_bytes comes twice"),
        (corrupted(b"int32", b"int33"), "dtype is 'int33'"),
        (corrupted(b"x\0\4", b"x\3\4"), "argument 'x': role 3 is unknown"),
        (corrupted(struct.pack("<BII", 7, 1, 0), struct.pack("<BII", 16, 1, 0)), "operator 16"),
        (corrupted(struct.pack("<BII", 7, 1, 0), struct.pack("<BII", 7, 2, 0)), "only 2 come"),
        (corrupted(struct.pack("<BII", 1, 5, 0), struct.pack("<BII", 4, 5, 0)), "kind of node 4"),
        (corrupted(struct.pack("<BII", 1, 5, 0), struct.pack("<BII", 1, 6, 0)), "outside its loop"),
        (corrupted(operand_head(1), operand_head(2)), "argument 2, there are 2"),
        (corrupted(operand_head(1), operand_head(1, unit=32)), "units of 2.*32 bytes from bit 0"),
        (corrupted(operand_head(1), operand_head(1, low_bit=64)), "2.*0 bytes from bit 64"),
        (corrupted(operand_head(1), operand_head(0xFFFF, unit=1)), "of no argument has a place"),
        (corrupted(operand_head(1), operand_head(1, steps=2**32 - 1)), "needed"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(data: bytes, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        Program.from_bytes(data)
