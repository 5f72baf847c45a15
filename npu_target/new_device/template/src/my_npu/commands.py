"""The commands: two words of 64 bits each. Fields are a word, the lowest bit there, a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from npu_target.device.command_set import CommandSet
from npu_target.device.commands import DeviceCommand, address, field, flag, uint


def _row(low_bit: int) -> Any:
    """The first row of a memory: programs run along such fields."""
    return uint(1, low_bit, 16, is_row=True)


def _number(word: int, low_bit: int, limit: str) -> Any:
    """How many rows or columns, as many as a number of the config says."""
    return uint(word, low_bit, 8, at_least=1, at_most=lambda config: getattr(config, limit))


@dataclass(frozen=True)
class Load(DeviceCommand, mnemonic="load", funct=0, tag=1, tag_mask=7):
    """Rows of a memory from DRAM, `stride` bytes apart there; what is left of a row becomes 0."""

    dram_address: int = address(2)
    row: int = _row(4)
    rows: int = _number(1, 20, "most_rows")
    columns: int = _number(1, 28, "lanes")
    stride: int = uint(1, 36, 28)
    to_sums: bool = flag(1, 3)


@dataclass(frozen=True)
class Clear(DeviceCommand, mnemonic="clear", funct=0, tag=2, tag_mask=7):
    """Rows of a memory become 0."""

    row: int = _row(4)
    rows: int = _number(1, 20, "most_rows")
    to_sums: bool = flag(1, 3)


@dataclass(frozen=True)
class Store(DeviceCommand, mnemonic="store", funct=0, tag=3, tag_mask=7):
    """Rows of sums to DRAM as int8: shifted to the right, rounded, saturated, or clipped at 0."""

    dram_address: int = address(2)
    row: int = _row(4)
    rows: int = _number(1, 20, "most_rows")
    columns: int = _number(1, 28, "lanes")
    shift: int = field("sint", 1, 36, 6)
    stride: int = uint(1, 42, 22)
    relu: bool = flag(1, 3)


@dataclass(frozen=True)
class Multiply(DeviceCommand, mnemonic="multiply", funct=0, tag=4, tag_mask=7):
    """`sums[to + i] += vectors[vector + i * step] @ vectors[matrix : matrix + lanes]`, or `=`."""

    vector: int = _row(4)
    matrix: int = _row(20)
    to: int = _row(36)
    rows: int = _number(2, 0, "most_rows")
    step: int = uint(2, 8, 16, at_least=1)
    overwrites: bool = flag(1, 3)


COMMANDS = CommandSet((Load, Clear, Store, Multiply), computing=(Multiply,))
