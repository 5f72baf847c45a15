"""The disassembly of a program: its arguments, and its commands inside their loops.

A command's words are sums; they are taken apart into the command's fields, so that a constant
field reads as in `isa` and a running one as a sum of loop variables i0, i1...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..device import kind_of
from ..device.commands import WORD_BITS, DeviceCommand, FieldSpec, PartedWord
from .expr import BOOLEAN_OPS, ZERO, Expr, Op, table, wrap_int64
from .nodes import Command, Loop, Node
from .operand import Address, Operand
from .program import Program

_INDENT = "  "
_MAX_EXPR_CHARS = 1000
# Fields at least this wide may run downwards; narrower ones are flags and codes.
_SIGNED_FIELD_BITS = 8
_SYMBOL = {
    Op.ADD: ("+", 4),
    Op.SUB: ("-", 4),
    Op.MUL: ("*", 5),
    Op.FLOOR_DIV: ("//", 5),
    Op.FLOOR_MOD: ("%", 5),
    Op.LT: ("<", 3),
    Op.LE: ("<=", 3),
    Op.EQ: ("==", 3),
    Op.AND: ("and", 2),
    Op.OR: ("or", 1),
}
_ATOM = 6
# The constructors put a constant second; these read better with it first.
_NUMBER_FIRST = frozenset({Op.MUL, Op.MIN, Op.MAX})


def program_text(program: Program) -> str:
    disassembly = Disassembly(program)
    disassembly.body(program.body, 1)
    return "\n".join([*disassembly.head(), "body", *disassembly.lines])


@dataclass
class _Sum:
    """What a register, or a field of it, holds."""

    base: int = 0
    address: Address | None = None
    terms: list[tuple[int, Expr | int]] = field(default_factory=list)  # int: a loop id

    @property
    def runs(self) -> bool:
        return bool(self.terms) or self.address is not None


class Disassembly:
    """The text of a program's parts."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.commands = kind_of(program.config).commands
        self.args = [place.name for place in program.places]
        self.lines: list[str] = []
        self.expressions: dict[Expr, tuple[str, int]] = {}

    def head(self) -> list[str]:
        """The program's name and device, and a line for each argument."""
        program = self.program
        lines = [f"program {program.name} for {program.config.name} ({program.config.hash})"]
        for arg in program.args:
            shape = ", ".join(map(str, arg.shape))
            lines.append(f"{_INDENT}{arg.role} {arg.name}: {arg.dtype}[{shape}]")
        for constant in program.constants:
            lines.append(f"{_INDENT}constant {constant.name}: {constant.nbytes} bytes")
        return lines

    def body(self, nodes: Iterable[Node], depth: int) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                extent = self.expr(node.extent)[0]
                if node.extent.op in BOOLEAN_OPS:
                    line = f"if {extent}:  # i{node.loop_id}"
                else:
                    line = f"for i{node.loop_id} in 0..{extent}:"
                self.lines.append(_INDENT * depth + line)
                self.body(node.body, depth + 1)
            else:
                self.lines.append(_INDENT * depth + self.command(node))

    def command(self, command: Command) -> str:
        sums = {1: _sum_of(command.rs1), 2: _sum_of(command.rs2)}
        # The tag is only known when its bits stay put, which they do in all that we make.
        cls = self.commands.find(command.funct, sums[1].base)
        if cls is not None:
            parts = {register: _split(sums[register], cls, register) for register in (1, 2)}
            rs1, rs2 = parts[1], parts[2]
            if rs1 is not None and rs2 is not None:
                fields = {**rs1, **rs2}
                texts = {name: self.field(spec, fields[name]) for name, spec in cls.specs().items()}
                zeros = frozenset(
                    name
                    for name, parts in fields.items()
                    if not any(part.base or part.runs for part in parts)
                )
                return cls.format(texts, zeros)
        rs1_text, rs2_text = (self.sum(sums[register], in_hex=True) for register in (1, 2))
        return f"raw  funct {command.funct}, rs1 {rs1_text}, rs2 {rs2_text}"

    def field(self, spec: FieldSpec, parts: list[_Sum]) -> str:
        if spec.parted is not None:
            return self.parted(spec.parted, parts)
        (part,) = parts
        if spec.kind == "scale" and [by for by, _ in part.terms] == [1]:
            (_, chosen), *_ = part.terms
            if isinstance(chosen, Expr) and chosen.op is Op.TABLE and not part.base:
                index, *words = chosen.args
                texts = [spec.text(spec.decode(word.value << spec.low_bit)) for word in words]
                listed = ", ".join(texts)
                if len(listed) > _MAX_EXPR_CHARS:
                    listed = "..."
                return f"[{listed}][{self.expr(index)[0]}]"
        if part.runs:
            text = self.sum(part, in_hex=spec.in_hex)
            items = len(part.terms) + (part.address is not None) + (part.base != 0)
            return f"({text})" if items > 1 and spec.width < WORD_BITS else text
        return spec.text(spec.decode(part.base << spec.low_bit))

    def parted(self, cls: type[PartedWord], parts: list[_Sum]) -> str:
        named = {name: part for (name, *_), part in zip(cls.PARTS, parts, strict=True)}
        first_name = cls.PARTS[0][0]
        first = named.pop(first_name)
        running = [
            f"{name}={self.sum(part, in_hex=False)}" for name, part in named.items() if part.runs
        ]
        fixed = {name: part.base for name, part in named.items() if not part.runs}
        if not first.runs:
            text = str(cls.of_parts({first_name: first.base, **fixed}))
        else:
            text = cls.of_parts({first_name: 0, **fixed}).format(self.sum(first, in_hex=True))
        return f"{text[:-1]}; {', '.join(running)}]" if running else text

    def sum(self, value: _Sum, in_hex: bool) -> str:
        """`x + 64*i0 - min(i1, 3) + 0x10`: the number comes last, and only when it counts."""
        items: list[tuple[bool, str]] = []
        if value.address is not None:
            items.append((False, self.address(value.address)))
        for factor, what in value.terms:
            text, binding = (f"i{what}", _ATOM) if isinstance(what, int) else self.expr(what)
            size = abs(factor)
            needed = _ATOM if size != 1 else _SYMBOL[Op.MUL][1]
            if binding < needed:
                text = f"({text})"
            if size != 1:
                text = f"{size:#x}*{text}" if size >= 1 << 16 else f"{size}*{text}"
            items.append((factor < 0, text))
        if value.base or not items:
            size = abs(value.base)
            items.append((value.base < 0, hex(size) if in_hex else str(size)))
        # A leading minus reads badly: begin with something added when there is such.
        if items[0][0]:
            first = next((item for item in items if not item[0]), None)
            if first is not None:
                items.remove(first)
                items.insert(0, first)
        text = ("-" if items[0][0] else "") + items[0][1]
        return text + "".join(f" {'-' if minus else '+'} {item}" for minus, item in items[1:])

    def address(self, address: Address) -> str:
        """`x`, `x/16` in units of bytes, `(x/16 << 26)` where it is not taken apart."""
        text = self.args[address.argument]
        if address.unit:
            text += f"/{1 << address.unit}"
        return f"({text} << {address.low_bit})" if address.low_bit else text

    def expr(self, expr: Expr) -> tuple[str, int]:
        """The text, and how strongly its outermost operator binds."""
        found = self.expressions.get(expr)
        if found is None:
            found = self.expressions[expr] = self._expr(expr)
        return found

    def _expr(self, expr: Expr) -> tuple[str, int]:
        if expr.op is Op.CONST:
            return str(expr.value), _ATOM if expr.value >= 0 else 0
        if expr.op is Op.VAR:
            return f"i{expr.value}", _ATOM
        args = [self.expr(arg) for arg in expr.args]
        if expr.op in _NUMBER_FIRST and expr.args[1].is_const:
            args.reverse()
        if sum(len(text) for text, _ in args) > _MAX_EXPR_CHARS:
            return f"{expr.op.name.lower()}(...)", _ATOM
        if expr.op not in _SYMBOL:
            return f"{expr.op.name.lower()}({', '.join(text for text, _ in args)})", _ATOM
        symbol, binding = _SYMBOL[expr.op]
        (left, left_binding), (right, right_binding) = args
        if left_binding < binding or (binding == _SYMBOL[Op.LT][1] == left_binding):
            left = f"({left})"
        if right_binding <= binding:
            right = f"({right})"
        if expr.op is Op.MUL:
            return f"{left}*{right}", binding
        return f"{left} {symbol} {right}", binding


def _sum_of(operand: Operand) -> _Sum:
    if operand.general:  # sums that are one expression may be of several fields
        rest = Operand(operand.base, operand.address, operand.steps)
        operand = Operand.of(rest, *[Operand.of(expr) * by for by, expr in operand.general])
    terms: list[tuple[int, Expr | int]] = [(by, loop_id) for loop_id, by in operand.steps]
    terms += operand.general
    return _Sum(operand.base, operand.address, terms)


def _split(value: _Sum, cls: type[DeviceCommand], register: int) -> dict[str, list[_Sum]] | None:
    """The fields in a register, a parted one in its parts. None when bits belong to no field."""
    ranges: list[tuple[str, int, int]] = []
    for spec in cls.specs().values():
        if spec.register != register:
            continue
        if spec.parted is not None:
            parts_of = spec.parted.PARTS
            ranges += [(spec.name, spec.low_bit + low, width) for _, low, width, _ in parts_of]
        else:
            ranges.append((spec.name, spec.low_bit, spec.width))
    layout = _Layout(ranges)
    parts = [_Sum() for _ in ranges]
    value = _Sum(value.base, value.address, [*value.terms])
    for term in value.terms[:]:
        by, table = term
        if by == 1 and isinstance(table, Expr) and table.op is Op.TABLE:
            value.terms.remove(term)
            if not _split_table(table, layout, parts):
                return None
    if value.address is not None:
        place = _field_of(value.address, ranges)
        if place is None:
            return None
        parts[place].address = value.address._replace(low_bit=0)
    for factor, what in value.terms:
        digits = layout.digits(factor, signed=[width >= _SIGNED_FIELD_BITS for *_, width in ranges])
        if digits is None:
            return None
        for part, digit in zip(parts, digits, strict=True):
            if digit:
                part.terms.append((digit, what))
    base = value.base & ~cls.tag_mask if register == 1 else value.base
    signed = [
        part.runs and width >= _SIGNED_FIELD_BITS
        for part, (*_, width) in zip(parts, ranges, strict=True)
    ]
    digits = layout.digits(base, signed, allows_negative=False)
    if digits is None:
        return None
    fields: dict[str, list[_Sum]] = {}
    for part, digit, (name, _, _) in zip(parts, digits, ranges, strict=True):
        part.base = digit
        fields.setdefault(name, []).append(part)
    return fields


def _split_table(expr: Expr, layout: _Layout, parts: list[_Sum]) -> bool:
    """A table of whole words as one of each field whose number is not in all words the same, in
    ``parts``. False when bits belong to no field."""
    index, *words = expr.args
    digits = [
        layout.digits(word.value, [False] * layout.n, allows_negative=False) for word in words
    ]
    for place in range(layout.n):
        numbers = []
        for found in digits:
            if found is None:
                return False
            numbers.append(found[place])
        chosen = table(index, numbers)
        parts[place].terms += [] if chosen == ZERO else [(1, chosen)]
    return True


def _field_of(address: Address, ranges: list[tuple[str, int, int]]) -> int | None:
    """Which of the fields begins where an address does; that of a byte in the lowest bits is the
    whole word."""
    is_plain = address == Address(address.argument)
    for index, (_, low, width) in enumerate(ranges):
        if low == address.low_bit and (not is_plain or width == WORD_BITS):
            return index
    return None


class _Layout:
    """Ranges of bits of a register, as the digits of a number."""

    def __init__(self, ranges: list[tuple[str, int, int]]) -> None:
        order = sorted(range(len(ranges)), key=lambda index: ranges[index][1])
        self.order = [(index, ranges[index][1], ranges[index][2]) for index in order]
        self.n = len(ranges)

    def digits(
        self, value: int, signed: list[bool], allows_negative: bool = True
    ) -> list[int] | None:
        """One number a range so that their sum, each at its place, is `value` modulo 2**64.

        A signed digit lies around 0, the others count from 0. None when bits outside the ranges
        are needed.
        """
        value = wrap_int64(value)
        sign = 1
        if allows_negative and value < 0:
            sign, value = -1, -value
        value %= 2**WORD_BITS
        found = [0] * self.n
        for index, low, width in self.order:
            if value % (1 << low):
                return None
            digit = (value >> low) % (1 << width)
            if signed[index] and digit >= 1 << (width - 1):
                digit -= 1 << width
            value = (value - (digit << low)) % 2**WORD_BITS
            found[index] = sign * digit
        return found if value == 0 else None
