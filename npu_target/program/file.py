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
from functools import cache

from ..device import ConfigError, DeviceConfig, kind_named
from .expr import Expr, Op, ProgramError, wrap_int64
from .nodes import MAX_LOOP_DEPTH, Command, Loop, Node
from .operand import Address, Operand
from .program import ROLES, Arg, Constant, Program

MAGIC = b"NPUPROG\x03"
_HEADER = struct.Struct("<8sII")
_LOOP, _COMMAND = 1, 2
_CONSTANT_ROLE = len(ROLES)
_NO_ADDRESS = (0xFFFF, 0, 0)
_COUNT = struct.Struct("<I")
_LOOP_HEAD = struct.Struct("<BII")
_COMMAND_HEAD = struct.Struct("<BB")


def write_program(program: Program) -> bytes:
    return ProgramWriter(program).write(program.body)


class ProgramWriter:
    """The binary forms of programs that are alike but for their bodies: a node that several have is
    encoded once.  All have the expressions of those that were written before."""

    def __init__(self, program: Program) -> None:
        head = _Writer()
        head.string(program.name)
        head.config(program.config)
        head.places(program)
        self._head = b"".join(head.parts)
        self._body = _BodyWriter()

    def body(self, nodes: tuple[Node, ...]) -> bytes:
        """A body as all these programs have it: equal for equal bodies."""
        return self._body.body(nodes)

    def write(self, nodes: tuple[Node, ...]) -> bytes:
        """The program with this body, which is not checked."""
        body = self.body(nodes)  # the expressions it uses come before it in the file
        expressions = self._body.expressions
        payload = b"".join((self._head, _COUNT.pack(len(expressions)), *expressions, body))
        return _HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


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
        return _Reader(payload).program()
    except (ProgramError, ConfigError) as error:
        raise ProgramError(f"{source}: corrupt, {error}") from error


@cache
def _word_layout(steps: int, general: int) -> struct.Struct:
    """Of an operand with so many steps and general terms."""
    return struct.Struct(f"<QHBBI{'Iq' * steps}I{'qI' * general}")


class _Writer:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def pack(self, layout: str, *values: int) -> None:
        self.parts.append(struct.pack("<" + layout, *values))

    def string(self, text: str) -> None:
        encoded = text.encode()
        self.pack("I", len(encoded))
        self.parts.append(encoded)

    def config(self, config: DeviceConfig) -> None:
        numbers = config.numbers()
        self.string(config.kind)
        self.string(config.name)
        self.pack("I", len(numbers))
        for key, value in numbers.items():
            self.string(key)
            self.pack("q", int(value))

    def places(self, program: Program) -> None:
        self.pack("I", len(program.places))
        for arg in program.args:
            self.string(arg.name)
            self.pack("B", ROLES.index(arg.role))
            self.string(arg.dtype)
            self.pack(f"I{len(arg.shape)}Q", len(arg.shape), *arg.shape)
        for constant in program.constants:
            self.string(constant.name)
            self.pack("BI", _CONSTANT_ROLE, len(constant.data))
            self.parts.append(constant.data)


class _BodyWriter:
    def __init__(self) -> None:
        self.expressions: list[bytes] = []
        self._index_of: dict[Expr, int] = {}
        # Of nodes by their identity, as comparing large ones takes as long as encoding them. They
        # are kept, so that no other gets the same.
        self._encoded: dict[int, tuple[Node, bytes]] = {}

    def body(self, nodes: tuple[Node, ...]) -> bytes:
        parts = [_COUNT.pack(len(nodes))]
        encoded = self._encoded
        for node in nodes:
            found = encoded.get(id(node))
            if found is None:
                made = self._loop(node) if isinstance(node, Loop) else self._command(node)
                found = encoded[id(node)] = node, made
            parts.append(found[1])
        return b"".join(parts)

    def _loop(self, node: Loop) -> bytes:
        head = _LOOP_HEAD.pack(_LOOP, node.loop_id, self._expr(node.extent))
        return head + self.body(node.body)

    def _command(self, node: Command) -> bytes:
        return (
            _COMMAND_HEAD.pack(_COMMAND, node.funct) + self._word(node.rs1) + self._word(node.rs2)
        )

    def _word(self, operand: Operand) -> bytes:
        address = _NO_ADDRESS if operand.address is None else operand.address
        steps, general = operand.steps, operand.general
        words = [operand.base, *address, len(steps)]
        for step in steps:
            words += step
        words.append(len(general))
        for coefficient, expr in general:
            words += (coefficient, self._expr(expr))
        return _word_layout(len(steps), len(general)).pack(*words)

    def _expr(self, expr: Expr) -> int:
        found = self._index_of.get(expr)
        if found is not None:
            return found
        if expr.op is Op.CONST:
            encoded = struct.pack("<Bq", expr.op, expr.value)
        elif expr.op is Op.VAR:
            encoded = struct.pack("<BI", expr.op, expr.value)
        elif expr.op is Op.TABLE:
            index, *words = expr.args
            values = [word.value for word in words]
            encoded = struct.pack(
                f"<BII{len(values)}q", expr.op, self._expr(index), len(values), *values
            )
        else:
            indices = [self._expr(arg) for arg in expr.args]
            encoded = struct.pack(f"<B{len(indices)}I", expr.op, *indices)
        self._index_of[expr] = len(self.expressions)
        self.expressions.append(encoded)
        return self._index_of[expr]


class _Reader:
    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.at = 0
        self.expressions: list[Expr] = []
        self.interned: dict[Expr, Expr] = {}

    def take(self, n: int) -> bytes:
        if n > len(self.payload) - self.at:
            left = len(self.payload) - self.at
            raise ProgramError(f"byte {self.at}: {n} more bytes needed, {left} left")
        self.at += n
        return self.payload[self.at - n : self.at]

    def number(self, layout: str) -> int:
        layout = "<" + layout
        value: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return value

    def string(self) -> str:
        at = self.at
        try:
            return self.take(self.number("I")).decode()
        except UnicodeDecodeError as error:
            raise ProgramError(f"byte {at}: a string is not UTF-8") from error

    def program(self) -> Program:
        name = self.string()
        config = self.config()
        places = [self.place() for _ in range(self.number("I"))]
        args = tuple(place for place in places if isinstance(place, Arg))
        constants = tuple(place for place in places if isinstance(place, Constant))
        if (*args, *constants) != tuple(places):
            raise ProgramError("an argument follows a constant")
        for _ in range(self.number("I")):
            # One object for equal expressions keeps comparing them cheap, whatever the file.
            expr = self.expr()
            self.expressions.append(self.interned.setdefault(expr, expr))
        body = self.body(depth=0)
        if self.at != len(self.payload):
            raise ProgramError(f"{len(self.payload) - self.at} bytes follow the program")
        return Program(name, config, args, body, constants)

    def config(self) -> DeviceConfig:
        kind, name = self.string(), self.string()
        numbers: dict[str, int] = {}
        for _ in range(self.number("I")):
            key = self.string()
            value = self.number("q")
            if key in numbers or key == "name":
                raise ProgramError(f"the device's {key} comes twice")
            numbers[key] = value
        return kind_named(kind).config.from_numbers(name, numbers, f"device {name!r}")

    def place(self) -> Arg | Constant:
        name = self.string()
        role = self.number("B")
        if role == _CONSTANT_ROLE:
            return Constant(name, self.take(self.number("I")))
        if role >= len(ROLES):
            raise ProgramError(f"argument {name!r}: role {role} is unknown")
        dtype = self.string()
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return Arg(name, ROLES[role], dtype, shape)

    def expr(self) -> Expr:
        """As written: nothing is folded, so that writing it again gives the same bytes."""
        at = self.at
        code = self.number("B")
        if code > max(Op):
            raise ProgramError(f"byte {at}: unknown operator {code}")
        op = Op(code)
        if op is Op.CONST:
            return Expr(op, self.number("q"))
        if op is Op.VAR:
            return Expr(op, self.number("I"))
        if op is Op.TABLE:
            index, count = self.expr_at(), self.number("I")
            words = struct.unpack(f"<{count}q", self.take(8 * count))
            if not words:
                raise ProgramError(f"byte {at}: a table of no words")
            return Expr(op, 0, (index, *(Expr(Op.CONST, word) for word in words)))
        n_args = 3 if op is Op.SELECT else 2
        return Expr(op, 0, tuple(self.expr_at() for _ in range(n_args)))

    def expr_at(self) -> Expr:
        index = self.number("I")
        if index >= len(self.expressions):
            raise ProgramError(
                f"byte {self.at - 4}: expression {index}, only {len(self.expressions)} come before"
            )
        return self.expressions[index]

    def body(self, depth: int) -> tuple[Node, ...]:
        return tuple(self.node(depth) for _ in range(self.number("I")))

    def node(self, depth: int) -> Node:
        kind = self.number("B")
        if kind == _COMMAND:
            return Command(self.number("B"), self.operand(), self.operand())
        if kind != _LOOP:
            raise ProgramError(f"byte {self.at - 1}: unknown kind of node {kind}")
        if depth == MAX_LOOP_DEPTH:
            raise ProgramError(f"loops are nested deeper than {MAX_LOOP_DEPTH}")
        loop_id = self.number("I")
        extent = self.expr_at()
        return Loop(loop_id, extent, self.body(depth + 1))

    def operand(self) -> Operand:
        base = self.number("Q")
        address = Address(self.number("H"), self.number("B"), self.number("B"))
        if address.argument == _NO_ADDRESS[0] and address != _NO_ADDRESS:
            raise ProgramError(f"byte {self.at - 2}: the address of no argument has a place")
        steps = tuple(
            (self.number("I"), wrap_int64(self.number("Q"))) for _ in range(self.number("I"))
        )
        general = tuple(
            (wrap_int64(self.number("Q")), self.expr_at()) for _ in range(self.number("I"))
        )
        return Operand(base, None if address == _NO_ADDRESS else address, steps, general)
