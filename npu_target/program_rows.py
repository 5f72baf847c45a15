"""Which rows of the device's own memories the commands of a program touch.

Rows of both memories are numbered as one: those of the accumulator follow the scratchpad's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .config import NpuConfig
from .isa import (
    COMPUTES,
    GARBAGE,
    LOADS,
    ConfigEx,
    ConfigLd,
    DeviceCommand,
    LocalAddress,
    Mvout,
    Preload,
    decode,
)
from .isa_encoding import CONFIG_FUNCT
from .operand import Operand
from .program_nodes import Command, Loop, Node
from .topi.blocking import ceil_div

# Increments beyond change a command's sizes, not its rows.
_ROW_LIMIT = 1 << 28


class NotConstant(Exception):
    """Rows, sizes or loops depend on what is known only when the program runs."""


class Access(NamedTuple):
    """Rows that a command touches: ``offsets`` from a start that steps along loops."""

    start: int
    steps: dict[int, int]
    offsets: np.ndarray
    writes: bool


@dataclass
class RowSettings:
    """Settings that say which rows commands touch, as they are in force; None where unknown."""

    block_strides: list[int | None]
    a_stride: int | None = None

    @classmethod
    def unset(cls) -> RowSettings:
        """As a program finds them."""
        return cls([None] * len(LOADS))

    def forget(self) -> None:
        """After commands that nobody has looked at."""
        self.block_strides[:] = [None] * len(LOADS)
        self.a_stride = None

    def apply(self, command: DeviceCommand) -> None:
        """Take over what a configuration sets."""
        if isinstance(command, ConfigLd):
            self.block_strides[command.id] = command.block_stride
        elif isinstance(command, ConfigEx):
            self.a_stride = command.a_stride


def decoded(command: Command) -> DeviceCommand:
    """The command, with operands as at the start of its loops."""
    return _decode(command.funct, command.rs1.base, command.rs2.base)


def without_rows(command: Command) -> DeviceCommand:
    """A copy or a step of the array, with 0 for the addresses in DRAM and for the rows."""
    first = 0 if command.funct in COPIES else without_row(command.rs1.base)
    return _decode(command.funct, first, without_row(command.rs2.base))


def accesses(command: Command, settings: RowSettings, config: NpuConfig) -> list[Access]:
    """What a command touches; nothing for configurations.  Raises NotConstant."""
    if command.funct == CONFIG_FUNCT:
        return []
    plain = without_rows(command)
    if isinstance(plain, LOADS):
        block_stride = settings.block_strides[LOADS.index(type(plain))]
        return [_copied(command, plain, block_stride, config, writes=True)]
    if isinstance(plain, Mvout):
        return [_copied(command, plain, config.dim, config, writes=False)]
    if isinstance(plain, Preload):
        return [
            *_operand(command.rs1, plain.bd, plain.bd_rows, 1, config, writes=False),
            *_operand(command.rs2, plain.c, plain.c_rows, 1, config, writes=True),
        ]
    if isinstance(plain, COMPUTES):
        return [
            *_operand(command.rs1, plain.a, plain.a_rows, settings.a_stride, config, writes=False),
            *_operand(command.rs2, plain.bd, plain.bd_rows, 1, config, writes=False),
        ]
    return []


# Programs have the same few commands again and again, in other rows.
_decode = lru_cache(maxsize=4096)(decode)
_ROW_MASK = (1 << LocalAddress.ROW_BITS) - 1
_LOCAL_MASK = (1 << LocalAddress.BITS) - 1
_GARBAGE_WORD = GARBAGE.encode()
COPIES = frozenset({cls.funct for cls in (*LOADS, Mvout)})


def without_row(word: int) -> int:
    """A word that holds a local address, with 0 for its row."""
    return word if word & _LOCAL_MASK == _GARBAGE_WORD else word & ~_ROW_MASK


def constant_extent(loop: Loop) -> int:
    """How often a loop runs.  Raises NotConstant."""
    if not loop.extent.is_const:
        raise NotConstant
    return max(0, loop.extent.value)


def starts(access: Access, loops: Iterable[tuple[int, int]]) -> np.ndarray:
    """First rows over all values of the ``(loop id, extent)`` that the access steps along, an axis
    for each of the loops (of length 1 for those that change nothing)."""
    loops = list(loops)
    if set(access.steps) - {loop_id for loop_id, _ in loops}:
        raise NotConstant
    rows: np.ndarray | None = None
    for axis, (loop_id, extent) in enumerate(loops):
        step = access.steps.get(loop_id)
        if step:
            shape = [1] * len(loops)
            shape[axis] = extent
            along = np.arange(0, step * extent, step, dtype=np.int64).reshape(shape)
            rows = along if rows is None else rows + along
    if rows is None:
        return np.full((1,) * len(loops), access.start, dtype=np.int64)
    return rows + access.start


def _copied(
    command: Command, plain: object, block_stride: int | None, config: NpuConfig, writes: bool
) -> Access:
    assert isinstance(plain, (*LOADS, Mvout))
    if not plain.rows or not plain.cols:  # pooling, or sizes that run
        raise NotConstant
    blocks = ceil_div(plain.cols, config.dim)
    if blocks > 1 and block_stride is None:
        raise NotConstant
    first = np.arange(blocks, dtype=np.int64)[:, None] * (block_stride or 0)
    offsets = (first + np.arange(plain.rows, dtype=np.int64)).ravel()
    start, steps = _start(command.rs2, plain.local, config)
    return Access(start, steps, offsets, writes)


def _operand(
    operand: Operand,
    local: LocalAddress,
    rows: int,
    stride: int | None,
    config: NpuConfig,
    writes: bool,
) -> list[Access]:
    if local.is_garbage:
        return []
    if stride is None:
        raise NotConstant
    start, steps = _start(operand, local, config)
    return [Access(start, steps, np.arange(rows, dtype=np.int64) * stride, writes)]


def _start(operand: Operand, local: LocalAddress, config: NpuConfig) -> tuple[int, dict[int, int]]:
    if operand.general or any(abs(step) >= _ROW_LIMIT for _, step in operand.steps):
        raise NotConstant
    row = operand.base & _ROW_MASK
    return row + (config.spad_rows if local.accumulator else 0), dict(operand.steps)


def leaves(
    nodes: Iterable[Node], around: tuple[tuple[int, int], ...] = ()
) -> list[tuple[Command, tuple[tuple[int, int], ...]]]:
    """The commands of loop nests, each with the ``(loop id, extent)`` around it.  Raises
    NotConstant."""
    found = []
    for node in nodes:
        if isinstance(node, Command):
            found.append((node, around))
        elif isinstance(node, Loop):
            found += leaves(node.body, (*around, (node.loop_id, constant_extent(node))))
        else:
            raise NotConstant
    return found
