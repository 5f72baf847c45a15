"""How commands are described: fields with their bits, limits and text, and what follows from them.

A command class lists its fields once; encoding, decoding, checking against a device and
disassembly are derived from that list here.

A command is a number (`funct`, as RISC-V's custom instructions have one; 0 where a device has none)
and two words of 64 bits. Commands of the same number are told apart by a tag, bits of the first
word.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar

WORD_BITS = 64
WORD_MASK = 2**WORD_BITS - 1


class IsaError(ValueError):
    """A command that cannot be encoded, words that are no command, or a device without it."""


class PartedWord(ABC):
    """A value of several parts that fill a field, such as a row of a memory and what to do there.

    Subclasses are frozen dataclasses. In a program the first part may run along loops.
    """

    TITLE: ClassVar[str]  # in messages
    BITS: ClassVar[int]
    # name, lowest bit, width, whether it is a flag: the parts of the word, lowest first.
    PARTS: ClassVar[tuple[tuple[str, int, int, bool], ...]]

    def __post_init__(self) -> None:
        for name, _, width, _ in self.PARTS:
            value = getattr(self, name)
            if not 0 <= value < 2**width:
                raise IsaError(f"{self.TITLE}: {name} is {value}, needs 0 to {2**width - 1}")

    @cached_property
    def word(self) -> int:
        """The value as the field has it."""
        return sum(int(getattr(self, name)) << low for name, low, *_ in self.PARTS)

    @classmethod
    @lru_cache(maxsize=4096)
    def decode(cls, word: int) -> PartedWord:
        return cls.of_parts(
            {name: word >> low & (2**width - 1) for name, low, width, _ in cls.PARTS}
        )

    @classmethod
    def of_parts(cls, parts: Mapping[str, int]) -> PartedWord:
        """The value of these parts, each as a number."""
        flags = {name for name, _, _, is_flag in cls.PARTS if is_flag}
        return cls(**{k: bool(v) if k in flags else v for k, v in parts.items()})

    @abstractmethod
    def format(self, first_text: str) -> str:
        """As text, with this text for its first part."""

    @abstractmethod
    def check_device(self, spec: FieldSpec, mnemonic: str, config: Any) -> None:
        """Raise IsaError, which begins with the mnemonic, when a device has no such thing."""


# Fields of a word, each the lowest bit and the width, lowest first.
RowBits = tuple[tuple[int, int], ...]
DeviceLimit = Callable[[Any], int]  # of a DeviceConfig of the command's kind


@dataclass(frozen=True, eq=False)  # one object a field
class FieldSpec:
    """Where a field is, what it may be, and how it reads."""

    name: str
    kind: str  # "uint", "sint", "flag", "scale" (float32) or "parted"
    register: int  # 1 or 2: which of the words
    low_bit: int
    width: int
    at_least: int = 0
    at_most: DeviceLimit | None = None
    names: tuple[str, ...] = ()  # of the values, for text
    in_hex: bool = False
    parted: type[PartedWord] | None = None  # its type
    rules: tuple[str, ...] = ()  # which of its values are allowed, in words of that type
    is_row: bool = False  # the number of a row; so is the first part of a parted word

    @property
    def mask(self) -> int:
        """The bits of the register this field occupies."""
        return ((1 << self.width) - 1) << self.low_bit

    def encode(self, value: Any) -> int:
        """The field's bits, at their place in the register."""
        if self.kind == "parted":
            raw = int(value.word)
        elif self.kind == "scale":
            raw = int.from_bytes(struct.pack("<f", value), "little")
        else:
            raw = int(value)
        return (raw << self.low_bit) & self.mask

    @lru_cache(maxsize=4096)  # noqa: B019  programs have the same few values again and again
    def _word(self, value: int | PartedWord, mnemonic: str) -> int:
        return self.encode(self.normalize(value, mnemonic))

    def word(self, value: Any, mnemonic: str) -> int:
        """`encode` of a value that is checked first. Raises as `normalize` does."""
        # The exact types first: whether it is of an abstract one takes long.
        if type(value) is int or type(value) is self.parted or isinstance(value, PartedWord):
            return self._word(value, mnemonic)
        return self.encode(self.normalize(value, mnemonic))

    def decode(self, register: int) -> Any:
        raw = (register & self.mask) >> self.low_bit
        if self.parted is not None:
            return self.parted.decode(raw)
        if self.kind == "scale":
            return struct.unpack("<f", struct.pack("<I", raw))[0]
        if self.kind == "flag":
            return bool(raw)
        if self.kind == "sint" and raw >> (self.width - 1):
            return raw - 2**self.width
        return raw

    def normalize(self, value: Any, mnemonic: str) -> Any:
        """`value` as its type in the class. Raises IsaError when the bits cannot hold it."""

        def error(needs: str) -> IsaError:
            return IsaError(f"{mnemonic}: {self.name} is {value!r}, needs {needs}")

        if self.parted is not None:
            if not isinstance(value, self.parted):
                raise error(f"a {self.parted.__name__}")
            return value
        if self.kind == "scale":
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise error("a float")
            try:
                value = struct.unpack("<f", struct.pack("<f", value))[0]
            except OverflowError:
                raise error("a finite float32") from None
            if not math.isfinite(value):
                raise error("a finite float32")
            return value
        if self.kind == "flag":
            if value not in (0, 1):
                raise error("True or False")
            return bool(value)
        # numpy's and TVM's integers are welcome, floats are not.
        if not hasattr(value, "__index__"):
            raise error("an int")
        value = value.__index__()
        low, high = 0, 2**self.width - 1
        if self.kind == "sint":
            low, high = -(2 ** (self.width - 1)), 2 ** (self.width - 1) - 1
        if not low <= value <= high:
            raise error(f"{low} to {high} (a field of {self.width} bits)")
        return value

    def check_device(self, value: Any, mnemonic: str, config: Any) -> None:
        """Raise IsaError when `config` has no such row, column, stride..."""
        if self.parted is not None:
            value.check_device(self, mnemonic, config)
        elif self.at_least or self.at_most is not None:
            most = 2**self.width - 1 if self.at_most is None else self.at_most(config)
            if not self.at_least <= value <= most:
                raise IsaError(
                    f"{mnemonic}: {self.name} is {value}, needs {self.at_least} to {most} "
                    f"on {config.name}"
                )

    def text(self, value: Any) -> str:
        if self.kind == "scale":
            return f"{value:.9g}"  # nine digits name a float32 exactly
        if self.names and value < len(self.names):
            return self.names[int(value)]
        if self.kind == "flag":
            return str(int(value))
        return hex(value) if self.in_hex else str(value)


def field(kind: str, register: int, low_bit: int, width: int, **options: Any) -> Any:
    """A dataclass field that is part of a register. `default` as in dataclasses.field; one without
    that comes behind one with is given by name."""
    default = options.pop("default", dataclasses.MISSING)
    spec = FieldSpec("", kind, register, low_bit, width, **options)
    return dataclasses.field(default=default, metadata={"spec": spec})


def uint(register: int, low_bit: int, width: int, **options: Any) -> Any:
    return field("uint", register, low_bit, width, **options)


def flag(register: int, low_bit: int, default: bool = False, **options: Any) -> Any:
    return field("flag", register, low_bit, 1, default=default, **options)


def scale(register: int, low_bit: int, default: float = 1.0) -> Any:
    return field("scale", register, low_bit, 32, default=default)


def parted(register: int, low_bit: int, cls: type[PartedWord], *rules: str) -> Any:
    return field("parted", register, low_bit, cls.BITS, parted=cls, rules=rules)


def address(register: int, **options: Any) -> Any:
    """A byte address in DRAM: the whole register."""
    return field("uint", register, 0, WORD_BITS, in_hex=True, **options)


@dataclass(frozen=True)
class DeviceCommand:
    """One command of the device, decoded. Fields that do not fit their bits raise IsaError."""

    mnemonic: ClassVar[str]
    funct: ClassVar[int]
    tag_mask: ClassVar[int] = 0  # the bits of the first word that tell it from others
    tag: ClassVar[int] = 0  # what these are
    template: ClassVar[str]  # of the text; empty: a list of the fields that are not zero

    def __init_subclass__(
        cls, mnemonic: str, funct: int = -1, tag: int = 0, tag_mask: int = 0, template: str = ""
    ) -> None:
        cls.mnemonic, cls.funct, cls.template = mnemonic, funct, template
        cls.tag, cls.tag_mask = tag, tag_mask
        # A field without a default may follow one with, as a flag is: it is given by name then.
        defaults = [field.default for field in dataclasses.fields(cls) if not field.kw_only]
        for own in vars(cls).values():
            if isinstance(own, dataclasses.Field):
                defaults.append(own.default)
                if own.default is dataclasses.MISSING and set(defaults) != {dataclasses.MISSING}:
                    own.kw_only = True

    def __post_init__(self) -> None:
        for spec in self.specs().values():
            value = spec.normalize(getattr(self, spec.name), self.mnemonic)
            object.__setattr__(self, spec.name, value)

    @classmethod
    @cache
    def specs(cls) -> Mapping[str, FieldSpec]:
        """The fields by name, in declaration order."""
        return {
            field.name: dataclasses.replace(field.metadata["spec"], name=field.name)
            for field in dataclasses.fields(cls)
        }

    @classmethod
    @cache
    def defaults(cls) -> Mapping[str, Any]:
        """The fields' defaults by name, dataclasses.MISSING for those that must be given."""
        return {field.name: field.default for field in dataclasses.fields(cls)}

    @classmethod
    @cache
    def row_bits(cls) -> tuple[RowBits, RowBits]:
        """Where the numbers of rows are in each of the words."""
        found: tuple[list[tuple[int, int]], ...] = ([], [])
        for spec in cls.specs().values():
            if spec.parted is not None:
                _, low, width, _ = spec.parted.PARTS[0]
                found[spec.register - 1].append((spec.low_bit + low, width))
            elif spec.is_row:
                found[spec.register - 1].append((spec.low_bit, spec.width))
        first, second = (tuple(sorted(bits)) for bits in found)
        return first, second

    @classmethod
    @cache
    def left_out(cls, given: frozenset[str]) -> tuple[int, int, int]:
        """What the defaults of the fields but the `given` ones add to each register (0 is none).

        Raises IsaError for a field without a default, and for one that there is not.
        """
        words = [0, 0, 0]
        for name, spec in cls.specs().items():
            if name not in given:
                value = cls.defaults()[name]
                if value is dataclasses.MISSING:
                    raise IsaError(f"{cls.mnemonic}: needs the field {name}")
                words[spec.register] += spec.word(value, cls.mnemonic)
        unknown = [name for name in given if name not in cls.specs()]
        if unknown:
            raise IsaError(f"{cls.mnemonic}: has no field {', '.join(sorted(unknown))}")
        return words[0], words[1], words[2]

    def encode(self) -> tuple[int, int, int]:
        """(funct, word 1, word 2)."""
        words = [0, self.tag, 0]
        for spec in self.specs().values():
            words[spec.register] |= spec.encode(getattr(self, spec.name))
        return self.funct, words[1], words[2]

    @classmethod
    def decode_words(cls, rs1: int, rs2: int) -> DeviceCommand:
        """The inverse of `encode`, for words known to be this command's."""
        words = [0, rs1, rs2]
        used = [0, cls.tag_mask, 0]
        values = {}
        for spec in cls.specs().values():
            used[spec.register] |= spec.mask
            values[spec.name] = spec.decode(words[spec.register])
        for register in (1, 2):
            reserved = words[register] & ~used[register]
            if reserved:
                raise IsaError(
                    f"{cls.mnemonic}: rs{register} is {words[register]:#x}, "
                    f"needs the reserved bits {reserved:#x} to be 0"
                )
        return cls(**values)

    def validate(self, config: Any) -> None:
        """Raise IsaError, saying field, value and limit, when the device cannot do this.

        What depends on the configuration state (strides, shrunk loads) is left to the simulator.
        """
        for spec in self.specs().values():
            spec.check_device(getattr(self, spec.name), self.mnemonic, config)
        self.check_relations(config)

    def check_relations(self, config: Any) -> None:
        """The limits that are not those of one field."""

    def needs_feature(self, config: Any, feature: str, what: str) -> None:
        if not getattr(config, feature):
            raise IsaError(f"{self.mnemonic}: {what} needs {feature}, {config.name} has it off")

    @classmethod
    def format(cls, texts: Mapping[str, str], zeros: frozenset[str]) -> str:
        """The command's line out of its fields' texts; `zeros` may be left out of a list."""
        if cls.template:
            return f"{cls.mnemonic}  {cls.template.format(**texts)}"
        items = []
        for name, spec in cls.specs().items():
            if name in zeros and not spec.names:
                continue
            if spec.kind == "flag" and texts[name] == "1":
                items.append(name)
            elif spec.kind == "flag" and texts[name] in spec.names:
                items.append(texts[name])
            else:
                items.append(f"{name}={texts[name]}")
        return "  ".join([cls.mnemonic, ", ".join(items)]).rstrip()

    def __str__(self) -> str:
        texts = {spec.name: spec.text(getattr(self, spec.name)) for spec in self.specs().values()}
        zeros = frozenset(
            spec.name
            for spec in self.specs().values()
            if spec.encode(getattr(self, spec.name)) == 0
        )
        return self.format(texts, zeros)
