"""What the description of every device has: a name, numbers, a hash; the host in front of it."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ..files import Pathish, check_name
from .limits import ConfigError, Limits
from .links import Link
from .memory import Memories

Config = TypeVar("Config", bound="DeviceConfig")


@dataclass(frozen=True)
class DeviceConfig(ABC):
    """One device. A kind of device has a subclass, also a frozen dataclass, with what is its own.

    Sizes are in the unit their name ends in. Every field but `name` is an int or a bool, so that a
    program file can carry them all; for what a name may be see `files.check_name`, for what the
    numbers may be the subclass's `limits`, which have every field too. The defaults of a subclass
    are a device.

    kind : the name of the kind of device (`kind.DeviceKind.name`).
    """

    kind: ClassVar[str]
    limits: ClassVar[Limits]
    # What `varied` takes besides fields: sizes that several fields make together.
    sizes: ClassVar[tuple[str, ...]] = ()

    name: str

    clock_khz: int = 500_000

    # The host core that computes operands and issues the commands: Rocket.
    host_cycles_per_command: int = 1
    host_cycles_per_instruction: int = 1  # any other: an addition, a branch, part of a constant
    host_branch_miss_cycles: int = 3  # more for a branch that goes another way: a loop's last one
    host_registers: int = 26  # that hold operands: 31 less stack, return address and some room
    host_icache_bytes: int = 16_384
    host_icache_line_bytes: int = 64
    host_icache_ways: int = 4
    host_icache_miss_cycles: int = 49  # for a line that comes from memory: the first time
    host_icache_l2_cycles: int = 14  # for one that the L2 has: any other time
    host_queue_commands: int = 10  # commands under way between the host and the device's queues

    def __post_init__(self) -> None:
        check_name(f"{type(self).__name__}.name", self.name, ConfigError)
        for field in dataclasses.fields(self):
            if field.name == "name":
                continue
            wanted = bool if isinstance(field.default, bool) else int
            value = getattr(self, field.name)
            if type(value) is not wanted:
                needs = f"must be of type {wanted.__name__}"
                raise ConfigError(f"device {self.name!r}: {field.name} is {value!r}, {needs}")
        violated = self.limits.violation(self.numbers())
        if violated is not None:
            raise ConfigError(f"device {self.name!r}: {violated}")

    @cached_property
    def hash(self) -> str:
        """16 hex digits over everything but the name: equal for devices that behave equally.

        Kinds of device differ in their fields, so they need no mention.
        """
        fields = {key: int(value) for key, value in self.numbers().items()}
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @property
    @abstractmethod
    def dim(self) -> int:
        """Elements of a row of each of the memories, and rows of a block of weights: the one side
        of the blocks that operators are cut into, which are square."""

    @property
    def peak_macs(self) -> int:
        """Multiply-accumulates that the device does in a cycle at most."""
        return self.dim**2

    @property
    @abstractmethod
    def memories(self) -> Memories:
        """The device's own memories."""

    def check_memories(self) -> None:
        """Raise ConfigError for a memory without room for a block, or whose rows are not one wide,
        as the definitions of operators need."""
        dim = self.dim
        for memory in self.memories.all:
            which = f"device {self.name!r}: the memory {memory.title!r} ({memory.scope})"
            if memory.columns != dim:
                raise ConfigError(
                    f"{which} has {memory.columns} columns, dim is {dim}: blocks are squares of "
                    "dim, and rows of all memories as wide. Where the device's are not, take "
                    "squares of its larger size, and several commands for a step (docs/porting.md)"
                )
            if not memory.rows >= memory.bank_rows >= dim:
                raise ConfigError(
                    f"{which} has {memory.rows} rows, {memory.bank_rows} of them in a bank; a bank "
                    f"has to hold a block of {dim} rows at least"
                )

    def numbers(self) -> dict[str, int]:
        """Every field but the name, in declaration order."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "name"
        }

    def replace(self: Config, **changes: Any) -> Config:
        """A copy with some fields changed. Raises ConfigError for a field that does not exist."""
        self.check_keys(changes, f"device {self.name!r}: replace()")
        return dataclasses.replace(self, **changes)

    def varied(self: Config, changes: Mapping[str, int]) -> Config:
        """The device that somebody who designs one asks for: with other numbers, by name.

        changes : fields, flags as 0 and 1, or `sizes`. What has to change with them does.

        Raises ConfigError for an unknown name, and for numbers that no device can have.
        """
        for name in changes:
            self.check_varied(name)
        numbers = {**self.numbers(), **self._fields_of(changes)}
        return self.from_numbers(self.name, numbers, f"device {self.name!r}")

    def check_varied(self, name: str) -> None:
        """Raise ConfigError for a name that `varied` does not take."""
        known = [*self.numbers(), *self.sizes]
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            raise ConfigError(
                f"a device of kind {self.kind} has no number {name!r}"
                + (f"; near: {', '.join(near)}" if near else "")
                + (f"; sizes: {', '.join(self.sizes)}" if self.sizes else "")
            )

    def _fields_of(self, changes: Mapping[str, int]) -> dict[str, int]:
        """The fields that `varied` changes, for names that are known."""
        return dict(changes)

    @property
    def memory_bytes(self) -> dict[str, int]:
        """What its own memories hold, by name."""
        return {memory.title: memory.n_bytes for memory in self.memories.all}

    @property
    def cache_bytes(self) -> int:
        """What the caches hold that it shares with the host and whose size is one of its numbers;
        0 for none."""
        return 0

    @property
    def links(self) -> tuple[Link, ...]:
        """The ways to memory that bound what it does, the one to DRAM last; none where its kind
        does not say."""
        return ()

    def with_ideal_memory(self: Config) -> Config:
        """The same device over a memory that answers at once and fills the bus.

        Raises ConfigError for a kind of device that does not say what that is.
        """
        raise ConfigError(
            f"device {self.name!r}: its kind, {self.kind}, describes no ideal memory to run it with"
        )

    def save(self, path: Pathish) -> None:
        """Write as JSON, one object with the kind and every field. `registry.load` reads it."""
        from .config_file import save

        save(self, path)

    @classmethod
    def from_dict(cls: type[Config], fields: Mapping[str, Any], source: str = "device") -> Config:
        """Build from exactly the fields of the class. `source` names the origin in errors."""
        cls.check_keys(fields, source)
        missing = [field.name for field in dataclasses.fields(cls) if field.name not in fields]
        if missing:
            raise ConfigError(f"{source}: missing {', '.join(missing)}")
        return cls(**fields)

    @classmethod
    def from_numbers(
        cls: type[Config], name: str, numbers: Mapping[str, int], source: str = "device"
    ) -> Config:
        """As `from_dict`, with flags as numbers 0 and 1."""
        flags = {field.name for field in dataclasses.fields(cls) if isinstance(field.default, bool)}
        fields: dict[str, Any] = {
            key: bool(value) if key in flags and value in (0, 1) else value
            for key, value in numbers.items()
        }
        return cls.from_dict({"name": name, **fields}, source)

    @classmethod
    def check_keys(cls, fields: Mapping[str, Any], source: str) -> None:
        """Raise ConfigError, which begins with `source`, for what is no field of the device."""
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - known)
        if unknown:
            names = ", ".join(map(repr, unknown))
            raise ConfigError(f"{source}: a device of kind {cls.kind} has no field {names}")
