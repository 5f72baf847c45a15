"""A program: its arguments and its body, and the making of commands whose fields run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ..device import DeviceConfig
from ..device.commands import (
    WORD_BITS,
    WORD_MASK,
    DeviceCommand,
    FieldSpec,
    IsaError,
    PartedWord,
)
from ..files import Pathish, write_atomically
from .check import check_body
from .expr import Expr, ProgramError, wrap_int64
from .nodes import Command, Node, nodes_of
from .operand import Address, Operand, OperandSum

ROLES = ("input", "output")
MAX_ARG_BYTES = 2**40
MAX_ARGS = 2**16 - 1
_ITEM_BYTES = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4,
    "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Arg:
    """A tensor the kernel is called with, compact in row-major order. Its place is its order."""

    name: str
    role: str  # "input" or "output"
    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.name.isprintable() or not self.name:
            raise ProgramError(f"argument {self.name!r}: needs a printable name")
        if self.role not in ROLES:
            raise ProgramError(f"argument {self.name}: role is {self.role!r}, needs {ROLES}")
        if self.dtype not in _ITEM_BYTES:
            raise ProgramError(
                f"argument {self.name}: dtype is {self.dtype!r}, needs one of "
                f"{', '.join(_ITEM_BYTES)}"
            )
        if any(extent < 1 for extent in self.shape):
            raise ProgramError(f"argument {self.name}: shape {self.shape} needs extents from 1")
        if self.nbytes > MAX_ARG_BYTES:
            raise ProgramError(
                f"argument {self.name}: {self.nbytes} bytes, needs at most {MAX_ARG_BYTES}"
            )

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * _ITEM_BYTES[self.dtype]


@dataclass(frozen=True)
class Constant:
    """Bytes of a program's own that the device reads. Their place follows those of arguments."""

    name: str
    data: bytes

    @property
    def nbytes(self) -> int:
        return len(self.data)


FieldValue = int | float | PartedWord | Expr | Operand
RunningValue = FieldValue | tuple[FieldValue, ...]


def device_command(cls: type[DeviceCommand], **fields: RunningValue) -> Command:
    """A command of a device whose fields may run.

    A field is a constant as in the class, an expression, an operand, or a tuple of such to be
    summed: `device_command(Mvin, dram_address=Operand.argument(0, 64 * i),
    local=(LocalAddress.spad(32), 16 * j), cols=16, rows=minimum(16, 100 - 16 * k))`.
    Constants are checked as the class does; what runs is checked by the device.
    Raises IsaError for constants that do not fit and for missing or unknown fields.
    """
    constants: list[object] = []
    left: list[RunningValue] = []
    for value in fields.values():
        kind = type(value)
        # The exact types first: whether it is of an abstract one takes long.
        if kind is Operand or kind is tuple or not isinstance(value, (int, PartedWord)):
            constants.append(None)
            left.append(value)
        else:
            constants.append(value)
    form = _form(cls, tuple(fields), tuple(constants))  # type: ignore[arg-type]
    return form.command(*left)


def command_form(
    cls: type[DeviceCommand], running: Sequence[str], **constants: int | PartedWord | Operand
) -> CommandForm:
    """Commands as `device_command` makes them that have these fields in common; those named in
    ``running`` are given for each. A constant of one of these is added to what is given."""
    parts = tuple([constants.pop(name, 0) for name in running])
    given = (*running, *constants)
    values = (*[None] * len(running), *constants.values())
    return _form(cls, given, values, parts)  # type: ignore[arg-type]


class Place(NamedTuple):
    """Where a field of a `CommandForm` goes that is given for each command.

    word : which of the two it is.
    base, address : the rest of the word, where the field begins at the lowest bit and no other
        that is given for each is in it: it is added to them as it is. Elsewhere `base` is None.
    """

    word: int
    base: int | None
    address: Address | None


class CommandForm:
    """Commands of a class that have some fields in common: the words of these, and the others.

    funct, words : of the command, without the fields that are given for each.
    places : of those.
    """

    def __init__(
        self,
        cls: type[DeviceCommand],
        specs: Sequence[FieldSpec],
        words: tuple[Operand, Operand],
        parts: Sequence[FieldValue],
    ) -> None:
        self.funct, self.words = cls.funct, words
        self._mnemonic, self._fields = cls.mnemonic, list(zip(specs, parts, strict=True))
        registers = [spec.register for spec in specs]
        self.places: list[Place] = []
        for spec, part in self._fields:
            word = words[spec.register - 1]
            if spec.low_bit or registers.count(spec.register) > 1:
                place = Place(spec.register - 1, None, None)
            else:
                more = part.word if isinstance(part, PartedWord) else part
                rest = Operand.of(word, more)  # type: ignore[arg-type]
                place = Place(spec.register - 1, rest.base, rest.address)
            self.places.append(place)

    def command(self, *values: RunningValue) -> Command:
        """One with these values of the fields that are given for each, in their order."""
        words = list(self.words)
        for number, (place, value) in enumerate(zip(self.places, values, strict=True)):
            index, base, address = place
            if (
                type(value) is Operand
                and base is not None
                and address is None
                and not value.is_constant
            ):
                sum = base + value.base & WORD_MASK
                words[index] = Operand(sum, value.address, value.steps, value.general)
            else:
                words[index] = self._with(words[index], number, value)
        return Command(self.funct, words[0], words[1])

    @lru_cache(maxsize=4096)  # noqa: B019  programs have the same few again and again
    def constant(self, number: int, value: int) -> Operand:
        """The word of that field, which is alone in there, where it comes to a constant: checked
        as `device_command` does."""
        return self._with(self.words[self.places[number].word], number, (value,))

    def _with(self, word: Operand, number: int, value: RunningValue) -> Operand:
        """A word with a field in it."""
        spec, part = self._fields[number]
        register = OperandSum()
        register.add(word)
        if part:
            value = (part, *(value if isinstance(value, tuple) else (value,)))
        if isinstance(value, (tuple, Expr, Operand)):
            _add_running(register, spec, value, self._mnemonic)
        else:
            register.base += spec.word(value, self._mnemonic)
        return register.operand()


@lru_cache(maxsize=4096)  # programs have the same few again and again
def _form(
    cls: type[DeviceCommand],
    given: tuple[str, ...],
    constants: tuple[Any, ...],
    parts: tuple[FieldValue, ...] | None = None,
) -> CommandForm:
    """Of the given fields, those whose constant is None are given for each command, and added to
    their ``parts``."""
    left_out, specs = cls.left_out(frozenset(given)), cls.specs()
    words = [0, cls.tag + left_out[1], left_out[2]]
    left = []
    for name, value in zip(given, constants, strict=True):
        if value is None:
            left.append(specs[name])
        else:
            words[specs[name].register] += specs[name].word(value, cls.mnemonic)
    first, second = Operand(words[1] & WORD_MASK), Operand(words[2] & WORD_MASK)
    return CommandForm(cls, left, (first, second), parts or (0,) * len(left))


def _add_running(register: OperandSum, spec: FieldSpec, value: RunningValue, mnemonic: str) -> None:
    """Add the terms of a field at its place, checked as a constant where they make one."""
    if spec.kind == "scale":
        raise IsaError(f"{mnemonic}: {spec.name} is a float32, needs one constant")
    if type(value) is Operand and not value.is_constant:
        register.add(value, 1 << spec.low_bit)
        return
    terms = value if isinstance(value, tuple) else (value,)
    running = [term for term in terms if isinstance(term, Operand) and not term.is_constant]
    # A single running term cannot come to a constant, so there is nothing to check.
    total = register if len(running) == 1 else OperandSum()
    factor = 1 << spec.low_bit if len(running) == 1 else 1
    for term in terms:
        # Operands first: whether they are of an abstract type takes long.
        if isinstance(term, Operand) or not isinstance(term, (float, PartedWord)):
            total.add(term, factor)
        elif isinstance(term, PartedWord) and spec.parted is not None:
            total.base += term.word * factor
        else:
            raise IsaError(f"{mnemonic}: {spec.name} has the term {term!r}, needs integers")
    if total is register:
        return
    if total.steps or total.general or total.address is not None:
        field = total.operand()
        if not field.is_constant:
            register.add(field, 1 << spec.low_bit)
            return
    base = total.base & WORD_MASK
    # A negative sum wraps to a large base: complain about what it is.
    constant: Any = base if spec.width == WORD_BITS else wrap_int64(base)
    if spec.parted is not None and 0 <= constant < 1 << spec.width:
        constant = spec.parted.decode(constant)
    register.base += spec.word(constant, mnemonic)


class _Body:
    """The field of a program that is its body, where that is still to be read from its bytes: once
    it is known, the program's own attribute goes before this."""

    def __get__(self, program: Program | None, owner: type[Program]) -> tuple[Node, ...]:
        if program is None:
            raise AttributeError("body")  # so that the field has no default
        from .file import read_body

        body = program.__dict__["body"] = read_body(program)
        return body


@dataclass(frozen=True)
class Program:
    """A kernel for one device. Raises ProgramError when the parts do not fit together."""

    name: str
    config: DeviceConfig
    args: tuple[Arg, ...]
    body: tuple[Node, ...] = _Body()  # type: ignore[assignment]
    constants: tuple[Constant, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.isprintable() or not self.name:
            raise ProgramError(f"program {self.name!r}: needs a printable name")
        names = [place.name for place in self.places]
        for name in names:
            if names.count(name) > 1:
                raise ProgramError(f"program {self.name}: two arguments are called {name!r}")
        if len(names) > MAX_ARGS:
            raise ProgramError(
                f"program {self.name}: {len(names)} arguments, needs at most {MAX_ARGS}"
            )
        check_body(self.body, f"program {self.name}", len(names))

    @property
    def places(self) -> tuple[Arg | Constant, ...]:
        """What has an address: arguments, and behind them the program's own constants."""
        return (*self.args, *self.constants)

    def to_bytes(self) -> bytes:
        """The binary form, checksum included."""
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        from .file import write_program

        return write_program(self)

    def with_bytes(self, data: bytes) -> Program:
        """The program with another body, that of these `to_bytes`, which is known to be right: it
        is read when it is first asked for."""
        found = object.__new__(Program)
        found.__dict__.update(
            name=self.name,
            config=self.config,
            args=self.args,
            constants=self.constants,
            _bytes=data,
        )
        return found

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "program") -> Program:
        """Read `to_bytes`. Raises ProgramError for anything else; `source` names it there."""
        from .file import read_program

        return read_program(data, source)

    def save(self, path: Pathish) -> None:
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: Pathish) -> Program:
        """Raises ProgramError for a file that is no program, OSError when it cannot be read."""
        return cls.from_bytes(Path(path).read_bytes(), source=str(path))

    @cached_property
    def alignments(self) -> tuple[int, ...]:
        """Of how many bytes the address of each of the `places` has to be a multiple."""
        found = [1] * len(self.places)
        for node in nodes_of(self.body):
            if isinstance(node, Command):
                for address in (node.rs1.address, node.rs2.address):
                    if address is not None:
                        found[address.argument] = max(found[address.argument], 1 << address.unit)
        return tuple(found)

    @cached_property
    def text(self) -> str:
        """The disassembly, with its loops."""
        from .text import program_text

        return program_text(self)

    def __str__(self) -> str:
        return self.text

    def expand(
        self, addresses: Mapping[str, int], limit: int | None = None
    ) -> list[tuple[int, int, int]]:
        """The stream of (funct, rs1, rs2), with each of the `places` at the address given by name.

        With a `limit`, only that many commands from the start.

        The C++ expander of the device library does it, the one the simulator runs. Raises
        ProgramError for missing, unknown or negative addresses, for a program that fails while
        it runs (a division by zero), and when the library is not loaded.
        """
        from .expand import expand_program

        return expand_program(self, addresses, limit)
