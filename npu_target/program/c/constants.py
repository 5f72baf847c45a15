"""Words that are the same throughout a kernel: made where code runs in a straight line, before the
loops that use them, or before the section that alone does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from ...device.commands import WORD_MASK
from ..expr import wrap_int64
from ..operand import Address
from .lines import Item, Name, Scope
from .sections import common_section, section_of

_MIN_ADDED, _MAX_ADDED = -2048, 2047  # what one addition of a RISC-V core holds
_ARGUMENT_REGISTERS = 8


def fits_addition(value: int) -> bool:
    return _MIN_ADDED <= wrap_int64(value) <= _MAX_ADDED


def load_immediate_instructions(value: int) -> int:
    """Those of the assembler's `li`: LUI and ADDI up to 32 bits, beyond the upper bits so, SLLI and
    ADDI."""
    value = wrap_int64(value)
    low = (value + 2048) % 4096 - 2048
    high = wrap_int64(value - low)
    if -(1 << 31) <= value < 1 << 31:
        return (high != 0) + (low != 0)
    shift = (high & -high).bit_length() - 1
    return load_immediate_instructions(high >> shift) + 1 + (low != 0)


def number(value: int) -> str:
    """A word as C: small ones with their sign."""
    signed = wrap_int64(value)
    return str(signed) if abs(signed) < 1 << 16 else f"{value & WORD_MASK:#x}u"


@dataclass(frozen=True, order=True)
class Known:
    """A word known up to an address (-1: none; `Constants.address_of` numbers them)."""

    address: int
    offset: int


@dataclass(eq=False)
class _Use:
    item: Item
    name: Name
    known: Known
    distance: int | None = None  # that a register of its own runs from there

    @property
    def section(self) -> Scope | None:
        """That it is made for."""
        section = section_of(self.item)
        return section if section is self.item else None


@dataclass(eq=False)
class Constants:
    """Which constants a kernel makes, and where."""

    registers: int
    places: int
    arguments: int
    fresh: Callable[[str], str]
    used_arguments: set[int] = field(default_factory=set)
    _shifted: list[Address] = field(default_factory=list)
    _uses: list[_Use] = field(default_factory=list)
    _in_loops: dict[tuple[Scope, Known], tuple[Name, list[Item]]] = field(default_factory=dict)

    def address_of(self, address: Address | None) -> int:
        """The number of an address: that of the argument, larger ones where it is shifted."""
        if address is None:
            return -1
        if address == Address(address.argument):
            return address.argument
        if address not in self._shifted:
            self._shifted.append(address)
        return self.places + self._shifted.index(address)

    def form(self, address: int) -> Address:
        """What `address_of` numbered so."""
        return Address(address) if address < self.places else self._shifted[address - self.places]

    def of(self, known: Known, item: Item) -> Name:
        """The word for code at `item`."""
        if known == Known(-1, 0):
            return Name("0")
        scope = item.scope
        if scope is None:
            return self._straight(_Use(item, Name(), known))
        name, items = self._in_loops.setdefault((scope.outermost, known), (Name(), []))
        items.append(item)
        return name

    def added(self, distance: int, item: Item) -> Name:
        """The word as a summand: a small one is part of the addition."""
        if fits_addition(distance):
            return Name(number(distance))
        return self.of(Known(-1, distance & WORD_MASK), item)

    def running(self, known: Known, distance: int, item: Item) -> Name:
        """A register of its own that begins before `item` and stops so much further."""
        return self._straight(_Use(item, Name(), known, distance & WORD_MASK))

    def _straight(self, use: _Use) -> Name:
        self._uses.append(use)
        return use.name

    def make(self) -> None:
        """When all uses are known. The order is that of the program; of what begins before one
        loop, running registers come first, then what stays."""

        def place(use: _Use) -> tuple[int, int, Known]:
            if use.distance is not None:
                return use.item.order, 0, Known(-1, 0)
            return use.item.order, 1, use.known if isinstance(use.item, Scope) else Known(-1, 0)

        for (outermost, known), (name, items) in self._in_loops.items():
            section = reduce(common_section, map(section_of, items))
            self._straight(_Use(section or outermost, name, known))
        uses = sorted(self._uses, key=place)
        self._make([use for use in uses if use.section is None], _Registers(self))
        for section in dict.fromkeys(use.section for use in uses if use.section is not None):
            mine = [use for use in uses if use.section is section]
            self._make(mine, _Registers(self, is_section=True))

    def _make(self, uses: list[_Use], registers: _Registers) -> None:
        stopped: list[_Use] = []
        item: Item | None = None
        for use in uses:
            if use.item is not item:
                for past in stopped:
                    assert past.distance is not None
                    offset = (past.known.offset + past.distance) & WORD_MASK
                    registers.put(Known(past.known.address, offset), past.name.text)
                registers.beginning.clear()
                stopped, item = [], use.item
            if use.distance is None:
                registers.make(use)
            else:
                registers.take(use)
                stopped.append(use)


class _Registers:
    """What registers hold where code runs in a straight line, used latest at the end. A word is
    made from one that is near, by an addition; else from any other one, by an addition of a
    constant, or anew, if that is no longer. The word used longest ago makes room. A register that
    will run on holds where it begins as long as only others are made: ``beginning``."""

    def __init__(self, constants: Constants, *, is_section: bool = False) -> None:
        self.constants = constants
        self.held: dict[Known, str] = {}
        self.beginning: dict[Known, str] = {}
        # Made each time that the section comes, which a compiler should not undo.
        self._sum, self._word, self._sum_word = (
            ("npu_sum_here", "NPU_WORD_HERE", "NPU_SUM_WORD_HERE")
            if is_section
            else ("npu_sum", "NPU_WORD", "NPU_SUM_WORD")
        )
        if is_section:
            return
        for index in range(min(constants.arguments, _ARGUMENT_REGISTERS, constants.registers)):
            self.held[Known(index, 0)] = self.address(index)

    def address(self, number: int) -> str:
        """The text of an address."""
        form = self.constants.form(number)
        text = f"a{form.argument}"
        if form.unit:
            text = f"({text} >> {form.unit})"
        return f"({text} << {form.low_bit})" if form.low_bit else text

    def is_argument(self, known: Known) -> bool:
        """Whether a parameter of the kernel holds it."""
        return known == Known(known.address, 0) and 0 <= known.address < self.constants.arguments

    def use_address(self, known: Known) -> None:
        if known.address >= 0:
            self.constants.used_arguments.add(self.constants.form(known.address).argument)

    def make(self, use: _Use) -> None:
        known = use.known
        if known in self.held:
            use.name.text = self.held[known]
        elif self.is_argument(known):
            use.name.text = self.address(known.address)
        else:
            use.name.text = self.constants.fresh("k")
            use.item.constants.append((f"const uint64_t {use.name} = {self.value(known)};",))
        self.use_address(known)
        self.put(known, use.name.text)

    def take(self, use: _Use) -> None:
        use.name.text = self.constants.fresh("r")
        use.item.constants.append((f"uint64_t {use.name} = {self.value(use.known)};",))
        self.use_address(use.known)
        self.held.pop(use.known, None)
        self.beginning[use.known] = use.name.text

    def put(self, known: Known, name: str) -> None:
        self.held.pop(known, None)
        if len(self.held) >= self.constants.registers:
            del self.held[next(iter(self.held))]
        self.held[known] = name

    def value(self, known: Known) -> str:
        if known.address < 0 and fits_addition(known.offset):
            return f"{self._word}({number(known.offset)})"
        registers = [*reversed(self.held.items()), *reversed(self.beginning.items())]
        for held, name in registers:
            distance = known.offset - held.offset
            if held.address == known.address and fits_addition(distance):
                return f"{self._sum}({name}, {number(distance)})" if distance else name
        fewest, text = self.anew(known)
        for held, name in registers:
            distance = (known.offset - held.offset) & WORD_MASK
            instructions = load_immediate_instructions(distance) + 1
            if held.address == known.address and instructions < fewest:
                fewest, text = instructions, f"{self._sum_word}({name}, {number(distance)})"
        return text

    def anew(self, known: Known) -> tuple[int, str]:
        """Without what is held, but for the argument itself: the instructions, and the text."""
        instructions = load_immediate_instructions(known.offset)
        added = number(known.offset)
        if known.address < 0:
            return instructions, f"{self._word}({added})"
        form, address = self.constants.form(known.address), self.address(known.address)
        shifts = (form.unit != 0) + (form.low_bit != 0)
        loaded = Known(form.argument, 0) not in self.held
        if not known.offset:
            return loaded + shifts, address
        if fits_addition(known.offset):
            return loaded + shifts + 1, f"{self._sum}({address}, {added})"
        return loaded + shifts + instructions + 1, f"{self._sum_word}({address}, {added})"
