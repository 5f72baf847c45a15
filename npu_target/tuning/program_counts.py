"""How much of what a program does, counted without running it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..expr import Op
from ..isa import (
    ComputeAccumulated,
    ComputePreloaded,
    DeviceCommand,
    Mvin,
    Mvin2,
    Mvin3,
    Mvout,
    Preload,
)
from ..program import Command, Loop, Node, Operand, Program, Weave

_LOADS = {cls.funct: cls for cls in (Mvin, Mvin2, Mvin3)}
_STORES = {Mvout.funct: Mvout}
_COMPUTES = {cls.funct: cls for cls in (ComputePreloaded, ComputeAccumulated)}
_COUNTS = (
    "commands",
    "operand_steps",
    "loads",
    "loaded_elements",
    "stores",
    "stored_elements",
    "preloads",
    "computes",
    "computed_rows",
    "others",
)


def program_counts(program: Program) -> np.ndarray:
    """Commands by kind, elements moved, rows of A, and running operands to be updated.

    Loops of an extent that is not constant, which are those of boundary tiles, count as entered
    once, sizes that run as what they start from: good enough to compare candidates by.
    """
    counts = dict.fromkeys(_COUNTS, 0)

    def add(command: Command, times: int) -> None:
        counts["commands"] += times
        counts["operand_steps"] += times * (len(command.rs1.steps) + len(command.rs2.steps))
        funct = command.funct
        if funct in _LOADS:
            counts["loads"] += times
            counts["loaded_elements"] += times * _elements(command, _LOADS[funct])
        elif funct in _STORES:
            counts["stores"] += times
            counts["stored_elements"] += times * _elements(command, _STORES[funct])
        elif funct in _COMPUTES:
            counts["computes"] += times
            counts["computed_rows"] += times * _field(command, _COMPUTES[funct], "a_rows")
        elif funct == Preload.funct:
            counts["preloads"] += times
        else:
            counts["others"] += times

    def walk(nodes: Sequence[Node], times: int) -> None:
        for node in nodes:
            if isinstance(node, Command):
                add(node, times)
            elif isinstance(node, Loop):
                extent = node.extent
                walk(node.body, times * (max(0, extent.value) if extent.op == Op.CONST else 1))
            elif isinstance(node, Weave):
                walk(node.body, times)
                walk(node.filling, times)

    walk(program.body, 1)
    return np.array([counts[name] for name in _COUNTS], dtype=float)


def _elements(command: Command, cls: type[DeviceCommand]) -> int:
    return _field(command, cls, "rows") * _field(command, cls, "cols")


def _field(command: Command, cls: type[DeviceCommand], name: str) -> int:
    """What a field starts from."""
    spec = cls.specs()[name]
    register: Operand = command.rs1 if spec.register == 1 else command.rs2
    return register.base >> spec.low_bit & (1 << spec.width) - 1
