"""Parts of a program's binary form (`file.py`), written."""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from itertools import chain

from ..device import DeviceConfig
from .expr import Expr, Op
from .nodes import Command, Loop, Node
from .operand import Operand
from .program import ROLES, Program

LOOP, COMMAND = 1, 2
CONSTANT_ROLE = len(ROLES)
NO_ADDRESS = (0xFFFF, 0, 0)
_COUNT = struct.Struct("<I")
_CONST, _VAR = struct.Struct("<Bq"), struct.Struct("<BI")
_ARGUMENTS = {number: struct.Struct(f"<B{number}I") for number in (2, 3)}
_LOOP_HEAD = struct.Struct("<BIII")  # and how many nodes are in it
_COMMAND_HEAD = struct.Struct("<BB")
_flat = chain.from_iterable


def head_bytes(program: Program) -> bytes:
    """Name, config and arguments."""
    head = _HeadWriter()
    head.string(program.name)
    head.parts.append(_config_bytes(program.config))
    head.places(program)
    return b"".join(head.parts)


@lru_cache(maxsize=16)
def _config_bytes(config: DeviceConfig) -> bytes:
    part, numbers = _HeadWriter(), config.numbers()
    part.string(config.kind)
    part.string(config.name)
    part.pack("I", len(numbers))
    for key, value in numbers.items():
        part.string(key)
        part.pack("q", int(value))
    return b"".join(part.parts)


def code_bytes(body: tuple[Node, ...]) -> bytes:
    """Expressions and body."""
    writer = _CodeWriter()
    body_bytes = writer.body(body)  # the expressions it uses come before it in the file
    expressions = writer.expressions
    return b"".join((_COUNT.pack(len(expressions)), *expressions, body_bytes))


@cache
def word_layout(steps: int, general: int) -> struct.Struct:
    """Of an operand with so many steps and general terms."""
    return struct.Struct(f"<QHBBI{'Iq' * steps}I{'qI' * general}")


@cache
def _command_layout(first: int, second: int) -> struct.Struct:
    """Of a command whose words have so many steps and no general terms, as most have."""
    return struct.Struct(f"<BBQHBBI{'Iq' * first}IQHBBI{'Iq' * second}I")


class _HeadWriter:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def pack(self, layout: str, *values: int) -> None:
        self.parts.append(struct.pack("<" + layout, *values))

    def string(self, text: str) -> None:
        encoded = text.encode()
        self.pack("I", len(encoded))
        self.parts.append(encoded)

    def places(self, program: Program) -> None:
        self.pack("I", len(program.places))
        for arg in program.args:
            self.string(arg.name)
            self.pack("B", ROLES.index(arg.role))
            self.string(arg.dtype)
            self.pack(f"I{len(arg.shape)}Q", len(arg.shape), *arg.shape)
        for constant in program.constants:
            self.string(constant.name)
            self.pack("BI", CONSTANT_ROLE, len(constant.data))
            self.parts.append(constant.data)


class _CodeWriter:
    def __init__(self) -> None:
        self._parts: list[bytes] = []
        # Arguments are written before what they are of, so equal expressions have equal bytes.
        self._index_of: dict[bytes, int] = {}
        # Of expressions by their ids, which the nodes keep alive.
        self._index_of_id: dict[int, int] = {}

    @property
    def expressions(self) -> list[bytes]:
        """Those that have been used, in the order of their indices."""
        return list(self._index_of)

    def body(self, nodes: tuple[Node, ...]) -> bytes:
        self._parts.append(_COUNT.pack(len(nodes)))
        self._append(nodes)
        return b"".join(self._parts)

    def _append(self, nodes: tuple[Node, ...]) -> None:
        parts = self._parts
        for node in nodes:
            if type(node) is Loop:
                extent, body = self._expr(node.extent), node.body
                parts.append(_LOOP_HEAD.pack(LOOP, node.loop_id, extent, len(body)))
                self._append(body)
            elif type(node) is Command:
                first, second = node.rs1, node.rs2
                if first.general or second.general:
                    head = _COMMAND_HEAD.pack(COMMAND, node.funct)
                    parts += (head, self._word(first), self._word(second))
                    continue
                steps, others = first.steps, second.steps
                parts.append(
                    _command_layout(len(steps), len(others)).pack(
                        COMMAND,
                        node.funct,
                        first.base,
                        *(first.address or NO_ADDRESS),
                        len(steps),
                        *_flat(steps),
                        0,
                        second.base,
                        *(second.address or NO_ADDRESS),
                        len(others),
                        *_flat(others),
                        0,
                    )
                )

    def _word(self, operand: Operand) -> bytes:
        steps, general = operand.steps, operand.general
        terms = [(coefficient, self._expr(expr)) for coefficient, expr in general]
        return word_layout(len(steps), len(general)).pack(
            operand.base,
            *(operand.address or NO_ADDRESS),
            len(steps),
            *_flat(steps),
            len(terms),
            *_flat(terms),
        )

    def _expr(self, expr: Expr) -> int:
        found = self._index_of_id.get(id(expr))
        if found is None:
            encoded = self._encoded(expr)
            found = self._index_of.setdefault(encoded, len(self._index_of))
            self._index_of_id[id(expr)] = found
        return found

    def _encoded(self, expr: Expr) -> bytes:
        if expr.op is Op.CONST:
            return _CONST.pack(expr.op, expr.value)
        if expr.op is Op.VAR:
            return _VAR.pack(expr.op, expr.value)
        if expr.op is Op.TABLE:
            index, *words = expr.args
            values = [word.value for word in words]
            layout = f"<BII{len(values)}q"
            return struct.pack(layout, expr.op, self._expr(index), len(values), *values)
        indices = [self._expr(arg) for arg in expr.args]
        return _ARGUMENTS[len(indices)].pack(expr.op, *indices)
