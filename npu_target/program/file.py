"""The binary form of a program, little endian, with a checksum.

magic "NPUPROG\\x03", u32 payload bytes, u32 crc32 of the payload, payload
payload: str name; config; args; expressions; body
str: u32 bytes, UTF-8
config: str kind, str name, u32 count, count x (str field, i64 value)
args: u32 count, each str name, u8 role (0 input, 1 output, 2 a constant of the program's own), of
    an input or output str dtype, u32 ndim, ndim x u64, of a constant u32 bytes, the bytes;
    constants come last
expressions: u32 count, each u8 op, then i64 value | u32 loop id | u32 index of each argument,
    which come before; of a table the index of its first one, u32 count, count x i64; shared ones
    are written once
body: u32 count, each u8 kind: 1 loop (u32 id, u32 extent, body), 2 command (u8 funct, 2 x
    operand)
operand: u64 base, u16 argument or 0xFFFF, u8 and u8 of its address (0 and 0 without), u32 count x
    (u32 loop id, u64 increment), u32 count x (u64 coefficient, u32 expression)
address: in units of 2**first bytes, of which it has to be a multiple, from bit `second` on
"""

from __future__ import annotations

import struct
import zlib

from ..device import ConfigError
from .expr import ProgramError
from .nodes import Node
from .program import Program
from .reader import ProgramReader
from .writer import code_bytes, head_bytes

MAGIC = b"NPUPROG\x03"
_HEADER = struct.Struct("<8sII")


def write_program(program: Program, body: tuple[Node, ...] | None = None) -> bytes:
    """The program, or one that has another body, which is not checked."""
    code = code_bytes(program.body if body is None else body)
    return _sealed(head_bytes(program) + code)


def with_code(program: Program, code: bytes) -> Program:
    """The program with another body, as the device library has written it."""
    return program.with_bytes(_sealed(head_bytes(program) + code))


def read_body(program: Program) -> tuple[Node, ...]:
    """The body that a program's bytes have."""
    head = _HEADER.size + len(head_bytes(program))
    return ProgramReader(program.to_bytes()[head:]).code()


def read_program(data: bytes, source: str) -> Program:
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise ProgramError(f"{source}: not a program file (no {MAGIC!r} at its start)")
    _, length, checksum = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    if len(payload) != length:
        raise ProgramError(
            f"{source}: corrupt, the header says {length} bytes, {len(payload)} follow"
        )
    if zlib.crc32(payload) != checksum:
        raise ProgramError(f"{source}: corrupt, the checksum does not match")
    try:
        return ProgramReader(payload).program()
    except (ProgramError, ConfigError) as error:
        raise ProgramError(f"{source}: corrupt, {error}") from error


def _sealed(payload: bytes) -> bytes:
    """A payload behind its header."""
    return _HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload
