"""How commands are described: fields with their bits, limits and text, and what follows from them.

A command class lists its fields once; encoding, decoding, checking against a device and
disassembly are derived from that list here. The commands themselves are in `isa.py`.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from .config import NpuConfig

WORD_BITS = 64
WORD_MASK = 2**WORD_BITS - 1
CONFIG_FUNCT = 0  # one funct for four commands, told apart by rs1[1:0]
CONFIG_KIND_MASK = 0b11


class IsaError(ValueError):
    """A command that cannot be encoded, words that are no command, or a device without it."""


@dataclass(frozen=True)
class LocalAddress:
    """A row of the scratchpad or the accumulator, with what to do there. 32 bits.

    `accumulate` adds to the row instead of writing it, `full_width` reads int32 instead of
    scaled int8, `norm` is a normalization command (0: none); all three are for the accumulator.
    """

    row: int
    accumulator: bool = False
    accumulate: bool = False
    full_width: bool = False
    norm: int = 0

    ROW_BITS: ClassVar[int] = 26
    BITS: ClassVar[int] = 32
    # name, lowest bit, width: the parts of the word, lowest first.
    PARTS: ClassVar[tuple[tuple[str, int, int], ...]] = (
        ("row", 0, ROW_BITS),
        ("norm", 26, 3),
        ("full_width", 29, 1),
        ("accumulate", 30, 1),
        ("accumulator", 31, 1),
    )

    def __post_init__(self) -> None:
        for name, _, width in self.PARTS:
            value = getattr(self, name)
            if not 0 <= value < 2**width:
                raise IsaError(f"local address: {name} is {value}, needs 0 to {2**width - 1}")

    @classmethod
    def spad(cls, row: int) -> LocalAddress:
        return cls(row)

    @classmethod
    def acc(cls, row: int, accumulate: bool = False, full_width: bool = False) -> LocalAddress:
        return cls(row, True, accumulate, full_width)

    @property
    def is_garbage(self) -> bool:
        """The address of nothing: reads as zeros (where allowed), writes go nowhere."""
        return self == GARBAGE

    @lru_cache(maxsize=4096)  # noqa: B019  of values, which have no owner
    def encode(self) -> int:
        return sum(int(getattr(self, name)) << low for name, low, _ in self.PARTS)

    @classmethod
    @lru_cache(maxsize=4096)
    def decode(cls, word: int) -> LocalAddress:
        parts = {name: word >> low & (2**width - 1) for name, low, width in cls.PARTS}
        flags = {name: bool(parts[name]) for name in ("accumulator", "accumulate", "full_width")}
        return cls(**{**parts, **flags})

    def __str__(self) -> str:
        if self.is_garbage:
            return "garbage"
        return self.format(hex(self.row))

    def format(self, row_text: str) -> str:
        memory = "acc" if self.accumulator else "spad"
        memory += ".add" * self.accumulate + ".full" * self.full_width
        memory += f".norm{self.norm}" if self.norm else ""
        return f"{memory}[{row_text}]"


GARBAGE = LocalAddress(2**LocalAddress.ROW_BITS - 1, True, True, True, 7)

DeviceLimit = Callable[[NpuConfig], int]


@dataclass(frozen=True, eq=False)  # one object a field
class FieldSpec:
    """Where a field is, what it may be, and how it reads."""

    name: str
    kind: str  # "uint", "sint", "flag", "scale" (float32) or "local"
    register: int  # 1: rs1, 2: rs2
    low_bit: int
    width: int
    at_least: int = 0
    at_most: DeviceLimit | None = None
    names: tuple[str, ...] = ()  # of the values, for text
    in_hex: bool = False
    memory: str = "any"  # of a local address: "any" or "spad"
    allows_garbage: bool = False

    @property
    def mask(self) -> int:
        """The bits of the register this field occupies."""
        return ((1 << self.width) - 1) << self.low_bit

    def encode(self, value: Any) -> int:
        """The field's bits, at their place in the register."""
        if self.kind == "local":
            raw = int(value.encode())
        elif self.kind == "scale":
            raw = int.from_bytes(struct.pack("<f", value), "little")
        else:
            raw = int(value)
        return (raw << self.low_bit) & self.mask

    @lru_cache(maxsize=4096)  # noqa: B019  programs have the same few values again and again
    def _word(self, value: int | LocalAddress, mnemonic: str) -> int:
        return self.encode(self.normalize(value, mnemonic))

    def word(self, value: Any, mnemonic: str) -> int:
        """`encode` of a value that is checked first. Raises as `normalize` does."""
        if type(value) is int or type(value) is LocalAddress:
            return self._word(value, mnemonic)
        return self.encode(self.normalize(value, mnemonic))

    def decode(self, register: int) -> Any:
        raw = (register & self.mask) >> self.low_bit
        if self.kind == "local":
            return LocalAddress.decode(raw)
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

        if self.kind == "local":
            if not isinstance(value, LocalAddress):
                raise error("a LocalAddress")
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

    def check_device(self, value: Any, mnemonic: str, config: NpuConfig) -> None:
        """Raise IsaError when `config` has no such row, column, stride..."""
        if self.kind == "local":
            self._check_local(value, mnemonic, config)
        elif self.at_least or self.at_most is not None:
            most = 2**self.width - 1 if self.at_most is None else self.at_most(config)
            if not self.at_least <= value <= most:
                raise IsaError(
                    f"{mnemonic}: {self.name} is {value}, needs {self.at_least} to {most} "
                    f"on {config.name}"
                )

    def _check_local(self, value: LocalAddress, mnemonic: str, config: NpuConfig) -> None:
        if value.is_garbage:
            if not self.allows_garbage:
                raise IsaError(f"{mnemonic}: {self.name} is garbage, needs a row")
            return
        if value.accumulator and self.memory == "spad":
            raise IsaError(f"{mnemonic}: {self.name} is {value}, needs a scratchpad row")
        if not value.accumulator and (value.accumulate or value.full_width or value.norm):
            raise IsaError(f"{mnemonic}: {self.name} is {value}, needs plain spad[...] or acc")
        rows = config.acc_rows if value.accumulator else config.spad_rows
        if value.row >= rows:
            raise IsaError(
                f"{mnemonic}: {self.name} is {value}, needs a row of 0x0 to {rows - 1:#x} "
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
    """A dataclass field that is part of a register. `default` as in dataclasses.field."""
    default = options.pop("default", dataclasses.MISSING)
    spec = FieldSpec("", kind, register, low_bit, width, **options)
    return dataclasses.field(default=default, metadata={"spec": spec})


def uint(register: int, low_bit: int, width: int, **options: Any) -> Any:
    return field("uint", register, low_bit, width, **options)


def flag(register: int, low_bit: int, default: bool = False, **options: Any) -> Any:
    return field("flag", register, low_bit, 1, default=default, **options)


def scale(register: int, low_bit: int, default: float = 1.0) -> Any:
    return field("scale", register, low_bit, 32, default=default)


def local_address(register: int, **options: Any) -> Any:
    return field("local", register, 0, LocalAddress.BITS, **options)


def address(register: int, **options: Any) -> Any:
    """A byte address in DRAM: the whole register."""
    return field("uint", register, 0, WORD_BITS, in_hex=True, **options)


@dataclass(frozen=True)
class DeviceCommand:
    """One command of the device, decoded. Fields that do not fit their bits raise IsaError."""

    mnemonic: ClassVar[str]
    funct: ClassVar[int]
    kind: ClassVar[int] = 0  # rs1[1:0] when funct is CONFIG_FUNCT
    template: ClassVar[str]  # of the text; empty: a list of the fields that are not zero

    registry: ClassVar[dict[tuple[int, int], type[DeviceCommand]]] = {}

    def __init_subclass__(
        cls, mnemonic: str, funct: int = -1, kind: int = 0, template: str = ""
    ) -> None:
        cls.mnemonic, cls.funct, cls.kind, cls.template = mnemonic, funct, kind, template
        if funct >= 0:  # else only a base of others
            DeviceCommand.registry[funct, kind] = cls

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
        """(funct, rs1, rs2)."""
        words = [0, self.kind, 0]
        for spec in self.specs().values():
            words[spec.register] |= spec.encode(getattr(self, spec.name))
        return self.funct, words[1], words[2]

    @classmethod
    def decode_words(cls, rs1: int, rs2: int) -> DeviceCommand:
        """The inverse of `encode`, for words known to be this command's."""
        words = [0, rs1, rs2]
        used = [0, CONFIG_KIND_MASK if cls.funct == CONFIG_FUNCT else 0, 0]
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

    def validate(self, config: NpuConfig) -> None:
        """Raise IsaError, saying field, value and limit, when the device cannot do this.

        What depends on the configuration state (strides, shrunk loads) is left to the simulator.
        """
        for spec in self.specs().values():
            spec.check_device(getattr(self, spec.name), self.mnemonic, config)
        self.check_relations(config)

    def check_relations(self, config: NpuConfig) -> None:
        """The limits that are not those of one field."""

    def needs_feature(self, config: NpuConfig, feature: str, what: str) -> None:
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


def command_class(funct: int, rs1: int) -> type[DeviceCommand] | None:
    """The class that decodes these words, None when the device has no such command."""
    kind = rs1 & CONFIG_KIND_MASK if funct == CONFIG_FUNCT else 0
    return DeviceCommand.registry.get((funct, kind))
