"""Parts of a program's binary form (`file.py`), read."""

from __future__ import annotations

import struct

from ..device import DeviceConfig, kind_named
from .expr import Expr, Op, ProgramError
from .nodes import MAX_LOOP_DEPTH, Command, Loop, Node
from .operand import Address, Operand
from .program import ROLES, Arg, Constant, Program
from .writer import COMMAND, CONSTANT_ROLE, LOOP, NO_ADDRESS, word_layout

_U32 = struct.Struct("<I")
_NODE = struct.Struct("<BB")
_LOOP_HEAD = struct.Struct("<II")
# Of an operand: what comes before its steps, a step and a general term.
_HEAD_BYTES = 16
_STEP_BYTES = _TERM_BYTES = 12


class ProgramReader:
    """Reads a payload, or the end of one. Raises ProgramError, and ConfigError for the device."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.at = 0
        self.expressions: list[Expr] = []
        self.interned: dict[Expr, Expr] = {}
        self.operands: dict[bytes, Operand] = {}  # by their bytes, of those without expressions

    def need(self, n: int) -> None:
        left = len(self.payload) - self.at
        if n > left:
            raise ProgramError(f"byte {self.at}: {n} more bytes needed, {left} left")

    def take(self, n: int) -> bytes:
        self.need(n)
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
        return Program(name, config, args, self.code(), constants)

    def code(self) -> tuple[Node, ...]:
        """Expressions and body, which are all that is left."""
        for _ in range(self.number("I")):
            # One object for equal expressions keeps comparing them cheap, whatever the file.
            expr = self.expr()
            self.expressions.append(self.interned.setdefault(expr, expr))
        body = self.body(depth=0)
        if self.at != len(self.payload):
            raise ProgramError(f"{len(self.payload) - self.at} bytes follow the program")
        return body

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
        if role == CONSTANT_ROLE:
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
        return self.expression(self.number("I"))

    def expression(self, index: int) -> Expr:
        if index >= len(self.expressions):
            raise ProgramError(
                f"byte {self.at - 4}: expression {index}, only {len(self.expressions)} come before"
            )
        return self.expressions[index]

    def body(self, depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for _ in range(self.number("I")):
            self.need(_NODE.size)
            kind, funct = _NODE.unpack_from(self.payload, self.at)
            if kind == COMMAND:
                self.at += _NODE.size
                nodes.append(Command(funct, self.operand(), self.operand()))
                continue
            if kind != LOOP:
                raise ProgramError(f"byte {self.at}: unknown kind of node {kind}")
            if depth == MAX_LOOP_DEPTH:
                raise ProgramError(f"loops are nested deeper than {MAX_LOOP_DEPTH}")
            self.at += 1
            loop_id, extent = _LOOP_HEAD.unpack(self.take(_LOOP_HEAD.size))
            nodes.append(Loop(loop_id, self.expression(extent), self.body(depth + 1)))
        return tuple(nodes)

    def operand(self) -> Operand:
        payload, at = self.payload, self.at
        try:
            (n_steps,) = _U32.unpack_from(payload, at + _HEAD_BYTES - _U32.size)
            (n_terms,) = _U32.unpack_from(payload, at + _HEAD_BYTES + _STEP_BYTES * n_steps)
        except struct.error:
            left = len(payload) - at
            raise ProgramError(
                f"byte {at}: more bytes needed for an operand, {left} left"
            ) from None
        data = self.take(_HEAD_BYTES + _STEP_BYTES * n_steps + _U32.size + _TERM_BYTES * n_terms)
        found = self.operands.get(data)
        if found is None:
            found = self.decoded(data, n_steps, n_terms)
            if not n_terms:
                self.operands[data] = found
        return found

    def decoded(self, data: bytes, n_steps: int, n_terms: int) -> Operand:
        values = word_layout(n_steps, n_terms).unpack(data)
        address = Address(*values[1:4])
        if address.argument == NO_ADDRESS[0] and address != NO_ADDRESS:
            raise ProgramError(f"byte {self.at}: the address of no argument has a place")
        steps, terms = values[5 : 5 + 2 * n_steps], values[6 + 2 * n_steps :]
        return Operand(
            values[0],
            None if address == NO_ADDRESS else address,
            tuple(zip(steps[::2], steps[1::2], strict=True)),
            tuple(
                [
                    (by, self.expression(index))
                    for by, index in zip(terms[::2], terms[1::2], strict=True)
                ]
            ),
        )
