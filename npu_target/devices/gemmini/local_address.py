"""Rows of the scratchpad and the accumulator as commands name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...device.commands import FieldSpec, IsaError, PartedWord
from .config import GemminiConfig

# What a field may hold besides a row of either memory, or not.
SCRATCHPAD_ONLY = "scratchpad only"
OR_GARBAGE = "or garbage"


@dataclass(frozen=True)
class LocalAddress(PartedWord):
    """A row of the scratchpad or the accumulator, with what to do there. 32 bits.

    `accumulate` adds to the row instead of writing it, `full_width` reads int32 instead of
    scaled int8, `norm` is a normalization command (0: none); all three are for the accumulator.
    """

    row: int
    accumulator: bool = False
    accumulate: bool = False
    full_width: bool = False
    norm: int = 0

    TITLE: ClassVar[str] = "local address"
    ROW_BITS: ClassVar[int] = 26
    BITS: ClassVar[int] = 32
    PARTS: ClassVar[tuple[tuple[str, int, int, bool], ...]] = (
        ("row", 0, ROW_BITS, False),
        ("norm", 26, 3, False),
        ("full_width", 29, 1, True),
        ("accumulate", 30, 1, True),
        ("accumulator", 31, 1, True),
    )

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

    def __str__(self) -> str:
        if self.is_garbage:
            return "garbage"
        return self.format(hex(self.row))

    def format(self, first_text: str) -> str:
        memory = "acc" if self.accumulator else "spad"
        memory += ".add" * self.accumulate + ".full" * self.full_width
        memory += f".norm{self.norm}" if self.norm else ""
        return f"{memory}[{first_text}]"

    def check_device(self, spec: FieldSpec, mnemonic: str, config: GemminiConfig) -> None:
        if self.is_garbage:
            if OR_GARBAGE not in spec.rules:
                raise IsaError(f"{mnemonic}: {spec.name} is garbage, needs a row")
            return
        if self.accumulator and SCRATCHPAD_ONLY in spec.rules:
            raise IsaError(f"{mnemonic}: {spec.name} is {self}, needs a scratchpad row")
        if not self.accumulator and (self.accumulate or self.full_width or self.norm):
            raise IsaError(f"{mnemonic}: {spec.name} is {self}, needs plain spad[...] or acc")
        rows = config.acc_rows if self.accumulator else config.spad_rows
        if self.row >= rows:
            raise IsaError(
                f"{mnemonic}: {spec.name} is {self}, needs a row of 0x0 to {rows - 1:#x} "
                f"on {config.name}"
            )


GARBAGE = LocalAddress(2**LocalAddress.ROW_BITS - 1, True, True, True, 7)
